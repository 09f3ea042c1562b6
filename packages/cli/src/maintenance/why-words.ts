import { joinLimited } from '@drydock/apimachinery';
import { type BlockerSummary, drainBehaviorOf, groupBlockers } from '@drydock/core/drain';
import type { DrainInputs } from '@drydock/core/maintenance';
import { blockersNow, filterContextOf, namesAllBlockers, vmsNow } from '@drydock/core/maintenance';
import { isTerminating, type Pod } from '@drydock/core/pod';
import type { MaintenanceRequest } from '@drydock/core/request';
import { isDraining } from '@drydock/core/request';
import { evictionPreview } from '@drydock/core/vm';
import { titleOf } from '../shared/requests.ts';

/** Facts for the explanation. */
export type WhyInputs = {
  readonly nodeName: string;
  /** Maintenances of this node, oldest first. */
  readonly requests: readonly MaintenanceRequest[];
  /** Hypothetical maintenance, for a node without one. */
  readonly imagined: MaintenanceRequest;
  readonly drainInputs: DrainInputs;
  readonly now: Temporal.Instant;
  /** Reason why a drain would leave the operator's pod on the node. */
  readonly stays?: string;
};

/** Returns a sentence for each group of blockers with the same remedy. */
function sentences(blockers: readonly BlockerSummary[]): readonly string[] {
  return groupBlockers(blockers).map(({ whats, message, remedy }) => {
    const help = remedy === undefined ? '' : ` What helps: ${remedy}.`;
    return `${joinLimited(whats, 5)}: ${message}.${help}`;
  });
}

function reasonOf({ reason }: MaintenanceRequest): string {
  return reason === undefined || reason === '' ? '' : ` (${reason})`;
}

function phaseOf({ status, deleting }: MaintenanceRequest): string {
  const { phase, message, lastError } = status;
  if (deleting) return 'is being released';
  const said = [message, lastError].flatMap(text =>
    typeof text === 'string' && text !== '' ? [text] : [],
  )[0];
  const word = typeof phase === 'string' && phase !== '' ? phase : 'not begun';
  return `is ${word}${said === undefined ? '' : `: ${said}`}`;
}

function vmText(request: MaintenanceRequest, { drainInputs, now }: WhyInputs): readonly string[] {
  const vms = vmsNow(request, drainInputs, now);
  return vms === undefined ? [] : [`${vms.summary}.`];
}

/** Returns the command that deletes the maintenance. */
function deletionOf({ adapter, namespace, name }: MaintenanceRequest): string {
  return `kubectl delete ${adapter.name} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
}

function requestText(request: MaintenanceRequest, known: WhyInputs): string {
  const { drainInputs, now } = known;
  const { history } = request;
  const about = `${titleOf(request)}${reasonOf(request)}, made ${request.createdAt.toString({ smallestUnit: 'second' })}, ${phaseOf(request)}.`;
  if (history.failure === 'NodeNotFound')
    return `${about} What helps: delete it, there is nothing left to release: ${deletionOf(request)}.`;
  if (!isDraining(request)) return about;
  return [
    about,
    ...vmText(request, known),
    ...sentences(blockersNow(request, drainInputs, now)),
  ].join(' ');
}

function vmsOutlook({ nodeName, imagined, drainInputs, now }: WhyInputs): string {
  const { vmPods } = filterContextOf({ nodeName, ...drainInputs }, now);
  const vms = evictionPreview(vmPods.values(), imagined.policy.virtualMachines);
  const texts = new Map<string, string[]>();
  for (const { name, text } of vms) texts.set(text, [...(texts.get(text) ?? []), name]);
  return [...texts].map(([text, names]) => ` VM ${joinLimited(names, 5)} ${text}.`).join('');
}

function withoutMaintenance(known: WhyInputs): string {
  const { nodeName, imagined, drainInputs, now } = known;
  const cordoned =
    drainInputs.node?.unschedulable === true
      ? ' It is cordoned, by somebody who left no maintenance.'
      : '';
  const blockers = sentences(blockersNow(imagined, drainInputs, now));
  const outlook =
    blockers.length === 0
      ? ' A drain would find nothing in its way that can be seen from here.'
      : ` A drain would find in its way: ${blockers.join(' ')}`;
  const stay = known.stays === undefined ? '' : ` It would be drained but for one: ${known.stays}.`;
  return `No maintenance holds node ${nodeName}.${cordoned}${outlook}${stay}${vmsOutlook(known)}`;
}

/** Returns one paragraph: why the node is in its state, and a remedy. */
export function whyNode(known: WhyInputs): string {
  const {
    nodeName,
    requests,
    drainInputs: { node },
  } = known;
  if (requests.length === 0) return withoutMaintenance(known);
  const state =
    node === undefined
      ? 'does not exist (any more)'
      : node.holdRecord === undefined
        ? 'is not held (yet)'
        : 'is held';
  return `Node ${nodeName} ${state}. ${requests.map(request => requestText(request, known)).join(' ')}`;
}

const stays: Readonly<Record<string, string>> = {
  DaemonSet: 'its DaemonSet would bring it back at once, so it is left where it is',
  MirrorPod: 'it is a static pod, which only its kubelet can stop',
  NotSelected: 'the pod selector does not pick it',
  LeftAlone: 'the policy leaves it alone',
  LastOperator: 'it is the operator itself, which no other node may run',
  TerminatingTooLong: 'it has been terminating for too long and is not waited for any more',
};

function podText(pod: Pod, request: MaintenanceRequest, { drainInputs, now }: WhyInputs): string {
  const behavior = drainBehaviorOf(
    pod,
    request.policy,
    filterContextOf({ nodeName: pod.nodeName, ...drainInputs }, now),
  );
  if (behavior.behavior === 'ignore')
    return `It stays: ${stays[behavior.reason] ?? behavior.reason}.`;
  const blocker = blockersNow(request, drainInputs, now).find(({ what }) => what === pod.key);
  if (blocker !== undefined) {
    const since = blocker.since === undefined ? '' : `, since ${blocker.since}`;
    const remedy = blocker.remedy === undefined ? '' : ` What helps: ${blocker.remedy}.`;
    return `It cannot go yet: ${blocker.message} (${blocker.reason}${since}).${remedy}`;
  }
  if (isTerminating(pod)) return 'It is on its way out.';
  if (namesAllBlockers(request))
    return 'Nothing keeps it, as far as its maintenance says: it goes at its turn.';
  const { lastError } = request.status;
  const told =
    typeof lastError !== 'string' || lastError === ''
      ? ''
      : ` The last error that it tells: ${lastError}.`;
  return `Nothing that can be seen from here keeps it. What the API server answers to its eviction is known to whoever drains the node.${told}`;
}

/** Returns one paragraph: why the pod is still there, and a remedy. */
export function whyPod(pod: Pod, known: WhyInputs): string {
  const { nodeName, requests, imagined } = known;
  const draining = requests.filter(({ deleting, level }) => !deleting && level === 'Drain');
  if (draining.length === 0) {
    return `Pod ${pod.key} runs on node ${nodeName}, which no maintenance drains. If one did: ${podText(pod, imagined, known)}`;
  }
  const texts = draining.map(
    request => `${titleOf(request)}${reasonOf(request)} drains it. ${podText(pod, request, known)}`,
  );
  return `Pod ${pod.key} runs on node ${nodeName}. ${texts.join(' ')}`;
}
