import { fewOf } from '../../core/drain/blocker.ts';
import { type Blocked, matters } from '../../core/drain/blocker-groups.ts';
import { judge } from '../../core/drain/filters.ts';
import type { Node } from '../../core/hold/node.ts';
import { blockersNow } from '../../core/maintenance/blockers-now.ts';
import type { Glance } from '../../core/maintenance/drain-inputs.ts';
import { circumstancesOf } from '../../core/maintenance/filter-context.ts';
import { vmsNow } from '../../core/maintenance/vms-now.ts';
import { isTerminating, type Pod } from '../../core/pod/pod.ts';
import { isDraining } from '../../core/request/display.ts';
import type { Request } from '../../core/request/request.ts';
import { vmOutlook } from '../../core/vm/outlook.ts';
import { titleOf } from '../shared/requests.ts';

/** What is known when somebody asks why. */
export type Known = {
  readonly node: Node;
  /** On this node, oldest first. */
  readonly requests: readonly Request[];
  /** What a maintenance would be that nobody has made: for a node without one. */
  readonly imagined: Request;
  readonly glance: Glance;
  readonly now: Temporal.Instant;
};

/** Blockers that ask for the same thing are one sentence. */
const sentences = (blockers: readonly Blocked[]): readonly string[] =>
  matters(blockers).map(({ whats, message, remedy }) => {
    const help = remedy === undefined ? '' : ` What helps: ${remedy}.`;
    return `${fewOf(whats, 5)}: ${message}.${help}`;
  });

const reasonOf = ({ reason }: Request): string => (reason === undefined || reason === '' ? '' : ` (${reason})`);

const phaseOf = ({ status, deleting }: Request): string => {
  const { phase, message, lastError } = status;
  if (deleting) return 'is being released';
  const said = [message, lastError].flatMap(text => (typeof text === 'string' && text !== '' ? [text] : []))[0];
  const word = typeof phase === 'string' && phase !== '' ? phase : 'not begun';
  return `is ${word}${said === undefined ? '' : `: ${said}`}`;
};

const vmText = (request: Request, { glance, now }: Known): readonly string[] => {
  const vms = vmsNow(request, glance, now);
  return vms === undefined ? [] : [`${vms.summary}.`];
};

const requestText = (request: Request, known: Known): string => {
  const { glance, now } = known;
  const about = `${titleOf(request)}${reasonOf(request)}, made ${request.createdAt.toString({ smallestUnit: 'second' })}, ${phaseOf(request)}.`;
  if (!isDraining(request)) return about;
  return [about, ...vmText(request, known), ...sentences(blockersNow(request, glance, now))].join(' ');
};

const vmsOutlook = ({ node, imagined, glance, now }: Known): string => {
  const { guests } = circumstancesOf({ nodeName: node.name, ...glance }, now);
  const vms = vmOutlook(guests.values(), imagined.policy.virtualMachines);
  const texts = new Map<string, string[]>();
  for (const { name, text } of vms) texts.set(text, [...(texts.get(text) ?? []), name]);
  return [...texts].map(([text, names]) => ` VM ${fewOf(names, 5)} ${text}.`).join('');
};

const withoutMaintenance = (known: Known): string => {
  const { node, imagined, glance, now } = known;
  const cordoned = node.unschedulable ? ' It is cordoned, by somebody who left no maintenance.' : '';
  const blockers = sentences(blockersNow(imagined, glance, now));
  const outlook =
    blockers.length === 0 ? ' A drain would find nothing in its way.' : ` A drain would find in its way: ${blockers.join(' ')}`;
  return `No maintenance holds node ${node.name}.${cordoned}${outlook}${vmsOutlook(known)}`;
};

/** Why the node is as it is, and what would help: one paragraph. */
export const whyNode = (known: Known): string => {
  const { node, requests } = known;
  if (requests.length === 0) return withoutMaintenance(known);
  const held = node.before === undefined ? 'is not held (yet)' : 'is held';
  return `Node ${node.name} ${held}. ${requests.map(request => requestText(request, known)).join(' ')}`;
};

const stays: Readonly<Record<string, string>> = {
  DaemonSet: 'its DaemonSet would bring it back at once, so it is left where it is',
  MirrorPod: 'it is a static pod, which only its kubelet can stop',
  NotSelected: 'the pod selector does not pick it',
  LeftAlone: 'the policy leaves it alone',
  TerminatingTooLong: 'it has been terminating for too long and is not waited for any more',
};

const podText = (pod: Pod, request: Request, { glance, now }: Known): string => {
  const fate = judge(pod, request.policy, circumstancesOf({ nodeName: pod.nodeName, ...glance }, now));
  if (fate.fate === 'ignore') return `It stays: ${stays[fate.reason] ?? fate.reason}.`;
  const blocker = blockersNow(request, glance, now).find(({ what }) => what === pod.key);
  if (blocker !== undefined) {
    const since = blocker.since === undefined ? '' : `, since ${blocker.since}`;
    const remedy = blocker.remedy === undefined ? '' : ` What helps: ${blocker.remedy}.`;
    return `It cannot go yet: ${blocker.message} (${blocker.cause}${since}).${remedy}`;
  }
  return isTerminating(pod) ? 'It is on its way out.' : 'Nothing keeps it: it goes at its turn.';
};

/** Why the pod is still there, and what would help: one paragraph. */
export const whyPod = (pod: Pod, known: Known): string => {
  const { node, requests, imagined } = known;
  const draining = requests.filter(({ deleting, stage }) => !deleting && stage === 'Drain');
  if (draining.length === 0) {
    return `Pod ${pod.key} runs on node ${node.name}, which no maintenance drains. If one did: ${podText(pod, imagined, known)}`;
  }
  const texts = draining.map(request => `${titleOf(request)}${reasonOf(request)} drains it. ${podText(pod, request, known)}`);
  return `Pod ${pod.key} runs on node ${node.name}. ${texts.join(' ')}`;
};
