import { type BlockerSummary, groupBlockers } from '../../core/drain/blockers/blocker-groups.ts';
import { drainBehaviorOf } from '../../core/drain/filters.ts';
import type { Node } from '../../core/hold/node.ts';
import { blockersNow } from '../../core/maintenance/blockers-now.ts';
import type { DrainInputs } from '../../core/maintenance/drain-inputs.ts';
import { filterContextOf } from '../../core/maintenance/filter-context.ts';
import { vmsNow } from '../../core/maintenance/vms-now.ts';
import { isTerminating, type Pod } from '../../core/pod/pod.ts';
import { isDraining } from '../../core/request/display.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import { fewOf } from '../../core/text.ts';
import { evictionPreview } from '../../core/vm/eviction-preview.ts';
import { titleOf } from '../shared/requests.ts';

/** What is known when somebody asks why. */
export type WhyInputs = {
  readonly node: Node;
  /** On this node, oldest first. */
  readonly requests: readonly MaintenanceRequest[];
  /** What a maintenance would be that nobody has made: for a node without one. */
  readonly imagined: MaintenanceRequest;
  readonly drainInputs: DrainInputs;
  readonly now: Temporal.Instant;
};

/** Blockers that ask for the same thing are one sentence. */
const sentences = (blockers: readonly BlockerSummary[]): readonly string[] =>
  groupBlockers(blockers).map(({ whats, message, remedy }) => {
    const help = remedy === undefined ? '' : ` What helps: ${remedy}.`;
    return `${fewOf(whats, 5)}: ${message}.${help}`;
  });

const reasonOf = ({ reason }: MaintenanceRequest): string => (reason === undefined || reason === '' ? '' : ` (${reason})`);

const phaseOf = ({ status, deleting }: MaintenanceRequest): string => {
  const { phase, message, lastError } = status;
  if (deleting) return 'is being released';
  const said = [message, lastError].flatMap(text => (typeof text === 'string' && text !== '' ? [text] : []))[0];
  const word = typeof phase === 'string' && phase !== '' ? phase : 'not begun';
  return `is ${word}${said === undefined ? '' : `: ${said}`}`;
};

const vmText = (request: MaintenanceRequest, { drainInputs, now }: WhyInputs): readonly string[] => {
  const vms = vmsNow(request, drainInputs, now);
  return vms === undefined ? [] : [`${vms.summary}.`];
};

const requestText = (request: MaintenanceRequest, known: WhyInputs): string => {
  const { drainInputs, now } = known;
  const about = `${titleOf(request)}${reasonOf(request)}, made ${request.createdAt.toString({ smallestUnit: 'second' })}, ${phaseOf(request)}.`;
  if (!isDraining(request)) return about;
  return [about, ...vmText(request, known), ...sentences(blockersNow(request, drainInputs, now))].join(' ');
};

const vmsOutlook = ({ node, imagined, drainInputs, now }: WhyInputs): string => {
  const { vmPods } = filterContextOf({ nodeName: node.name, ...drainInputs }, now);
  const vms = evictionPreview(vmPods.values(), imagined.policy.virtualMachines);
  const texts = new Map<string, string[]>();
  for (const { name, text } of vms) texts.set(text, [...(texts.get(text) ?? []), name]);
  return [...texts].map(([text, names]) => ` VM ${fewOf(names, 5)} ${text}.`).join('');
};

const withoutMaintenance = (known: WhyInputs): string => {
  const { node, imagined, drainInputs, now } = known;
  const cordoned = node.unschedulable ? ' It is cordoned, by somebody who left no maintenance.' : '';
  const blockers = sentences(blockersNow(imagined, drainInputs, now));
  const outlook =
    blockers.length === 0 ? ' A drain would find nothing in its way.' : ` A drain would find in its way: ${blockers.join(' ')}`;
  return `No maintenance holds node ${node.name}.${cordoned}${outlook}${vmsOutlook(known)}`;
};

/** Why the node is as it is, and what would help: one paragraph. */
export const whyNode = (known: WhyInputs): string => {
  const { node, requests } = known;
  if (requests.length === 0) return withoutMaintenance(known);
  const held = node.holdRecord === undefined ? 'is not held (yet)' : 'is held';
  return `Node ${node.name} ${held}. ${requests.map(request => requestText(request, known)).join(' ')}`;
};

const stays: Readonly<Record<string, string>> = {
  DaemonSet: 'its DaemonSet would bring it back at once, so it is left where it is',
  MirrorPod: 'it is a static pod, which only its kubelet can stop',
  NotSelected: 'the pod selector does not pick it',
  LeftAlone: 'the policy leaves it alone',
  TerminatingTooLong: 'it has been terminating for too long and is not waited for any more',
};

const podText = (pod: Pod, request: MaintenanceRequest, { drainInputs, now }: WhyInputs): string => {
  const behavior = drainBehaviorOf(pod, request.policy, filterContextOf({ nodeName: pod.nodeName, ...drainInputs }, now));
  if (behavior.behavior === 'ignore') return `It stays: ${stays[behavior.reason] ?? behavior.reason}.`;
  const blocker = blockersNow(request, drainInputs, now).find(({ what }) => what === pod.key);
  if (blocker !== undefined) {
    const since = blocker.since === undefined ? '' : `, since ${blocker.since}`;
    const remedy = blocker.remedy === undefined ? '' : ` What helps: ${blocker.remedy}.`;
    return `It cannot go yet: ${blocker.message} (${blocker.cause}${since}).${remedy}`;
  }
  return isTerminating(pod) ? 'It is on its way out.' : 'Nothing keeps it: it goes at its turn.';
};

/** Why the pod is still there, and what would help: one paragraph. */
export const whyPod = (pod: Pod, known: WhyInputs): string => {
  const { node, requests, imagined } = known;
  const draining = requests.filter(({ deleting, stage }) => !deleting && stage === 'Drain');
  if (draining.length === 0) {
    return `Pod ${pod.key} runs on node ${node.name}, which no maintenance drains. If one did: ${podText(pod, imagined, known)}`;
  }
  const texts = draining.map(request => `${titleOf(request)}${reasonOf(request)} drains it. ${podText(pod, request, known)}`);
  return `Pod ${pod.key} runs on node ${node.name}. ${texts.join(' ')}`;
};
