import { instantAt, own, readTime } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import {
  type EventState,
  instanceOf,
  type MachineEvent,
  type Mark,
  type PresetName,
  type Signal,
  type TroubleReason,
} from '@drydock/core/machine';
import type { Node, NodeCondition, Taint } from '@drydock/core/node';

/** Rules for signals that other programs put on nodes, by the name of the preset. */

function problem(type: string): Signal {
  return { condition: { type, status: 'True' }, kind: 'maintenance' };
}

function tainted(key: string, kind: EventKind, description: string): Signal {
  return { taint: { key }, kind, description };
}

/**
 * Returns a signal of a condition of AKS: its message begins with the kind of event, and contains
 * its time (Azure/AKS, node problem detector).
 */
function aksScheduled(word: string, kind: EventKind): Signal {
  return {
    condition: { type: 'VMEventScheduled', status: 'True', messageContains: `${word} Scheduled` },
    kind,
    notBeforeInMessage: true,
  };
}

export const signalPresets = {
  /**
   * Permanent problems in the configuration files of kubernetes/node-problem-detector; they stay
   * until the node restarts.
   */
  'node-problem-detector': [
    problem('KernelDeadlock'),
    problem('ReadonlyFilesystem'),
    problem('XfsShutdown'),
    problem('CperHardwareErrorFatal'),
    problem('CorruptDockerOverlay2'),
  ],
  /** Source: GKE, "Manage disruption to GKE nodes that don't live migrate". */
  gke: [
    tainted(
      'cloud.google.com/impending-node-termination',
      'termination',
      'GKE is about to terminate this node',
    ),
    {
      label: { key: 'cloud.google.com/active-node-maintenance', value: 'ONGOING' },
      kind: 'maintenance',
      state: 'Active',
      description: 'GKE stops the workloads of this node for host maintenance',
    },
    {
      label: { key: 'cloud.google.com/scheduled-maintenance-time' },
      kind: 'maintenance',
      notBeforeLabel: 'cloud.google.com/scheduled-maintenance-time',
      state: 'Scheduled',
      description: 'Google has planned host maintenance for this node',
    },
  ],
  /** Source: AKS, "Node problem detector" and "Node auto-drain". */
  aks: [
    aksScheduled('Preempt', 'preemption'),
    aksScheduled('Terminate', 'termination'),
    aksScheduled('Redeploy', 'redeploy'),
    aksScheduled('Reboot', 'reboot'),
    aksScheduled('Freeze', 'freeze'),
    {
      condition: { type: 'PreemptionScheduled', status: 'True' },
      kind: 'preemption',
      notBeforeInMessage: true,
    },
    {
      condition: { type: 'VMEventScheduled', status: 'True' },
      kind: 'maintenance',
      notBeforeInMessage: true,
    },
  ],
  /**
   * Taints of aws/aws-node-termination-handler with taintNode. Their value is the event; they
   * contain no time.
   */
  'aws-node-termination-handler': [
    tainted(
      'aws-node-termination-handler/spot-itn',
      'preemption',
      'AWS takes this Spot instance back',
    ),
    tainted(
      'aws-node-termination-handler/scheduled-maintenance',
      'maintenance',
      'AWS has scheduled maintenance for this instance',
    ),
    tainted(
      'aws-node-termination-handler/asg-lifecycle-termination',
      'termination',
      'the Auto Scaling group terminates this instance',
    ),
    tainted(
      'aws-node-termination-handler/rebalance-recommendation',
      'rebalance',
      'AWS may take this Spot instance back soon',
    ),
  ],
  /**
   * Taints of Karpenter from 1.0, and before. Karpenter drains these nodes itself: the preset is
   * for notifications only.
   */
  karpenter: [
    tainted('karpenter.sh/disrupted', 'termination', 'Karpenter removes this node'),
    {
      taint: { key: 'karpenter.sh/disruption', value: 'disrupting' },
      kind: 'termination',
      description: 'Karpenter removes this node',
    },
  ],
} satisfies Readonly<Record<PresetName, readonly Signal[]>>;

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Pattern of RFC 7231's IMF-fixdate, and of the variant of EC2's metadata service: no day of the
 * week, the day not padded. Always GMT.
 */
const spoken =
  /(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) (?:GMT|UTC)/i;

function fromSpoken(match: RegExpExecArray | null): Temporal.Instant | undefined {
  const [, day = '', month = '', year = '', time = ''] = match ?? [];
  const number = months.indexOf(month.toLowerCase()) + 1;
  if (number === 0) return undefined;
  return readTime(`${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}T${time}Z`);
}

/**
 * Reads a time as clouds write it: RFC 3339, `1 Jan 2030 00:00:00 GMT` or `Mon, 19 Sep 2016
 * 18:29:47 GMT`. Returns undefined for anything else, including a time without a zone.
 */
export function readCloudTime(text: unknown): Temporal.Instant | undefined {
  if (typeof text !== 'string') return undefined;
  const trimmed = text.trim();
  const match = spoken.exec(trimmed);
  return match?.[0] === trimmed ? fromSpoken(match) : readTime(trimmed);
}

/** Finds the first `Wed, 26 Feb 2025 10:13:13 GMT` within a sentence. */
export function findTime(text: string): Temporal.Instant | undefined {
  return fromSpoken(spoken.exec(text));
}

/** Reads seconds since 1970, as labels hold them; undefined for anything else. */
export function readEpochSeconds(text: string): Temporal.Instant | undefined {
  return /^\d{1,11}$/.test(text) ? instantAt(Number(text) * 1000) : undefined;
}

/** Fields of a Node that are read. */
export type SignalNode = Pick<Node, 'name' | 'labels' | 'annotations' | 'taints' | 'providerId'> & {
  readonly conditions: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
};

/**
 * A signal on a node: an id that stays the same as long as the signal does, its code, and its own
 * message.
 */
type ParsedSignal = { readonly id: string; readonly code: string; readonly message?: string };

function fits(mark: Mark, value: string | undefined): boolean {
  return value !== undefined && (mark.value === undefined || mark.value === value);
}

function findMark(
  what: string,
  mark: Mark,
  values: Readonly<Record<string, string>>,
): ParsedSignal | undefined {
  return fits(mark, Object.hasOwn(values, mark.key) ? values[mark.key] : undefined)
    ? { id: `${what}/${mark.key}`, code: mark.key }
    : undefined;
}

function find(signal: Signal, node: SignalNode): ParsedSignal | undefined {
  if ('condition' in signal) {
    const { type, status, messageContains = '' } = signal.condition;
    const there = node.conditions.find(
      condition => condition.type === type && condition.status === status,
    );
    if (there === undefined || !there.message.toLowerCase().includes(messageContains.toLowerCase()))
      return undefined;
    return { id: `condition/${type}`, code: type, message: there.message };
  }
  if ('taint' in signal) {
    const { taint } = signal;
    const is = ({ key, value = '', effect }: Taint): boolean =>
      key === taint.key &&
      fits(taint, value) &&
      (taint.effect === undefined || taint.effect === effect);
    return node.taints.some(is) ? { id: `taint/${taint.key}`, code: taint.key } : undefined;
  }
  if ('annotation' in signal) return findMark('annotation', signal.annotation, node.annotations);
  return findMark('label', signal.label, node.labels);
}

function timesOf(rule: Signal, node: SignalNode, message: string) {
  const annotated = (key: string | undefined): Temporal.Instant | undefined =>
    key === undefined ? undefined : readTime(own(node.annotations, key));
  const labelled =
    rule.notBeforeLabel === undefined
      ? undefined
      : readEpochSeconds(own(node.labels, rule.notBeforeLabel) ?? '');
  const notBefore =
    annotated(rule.notBeforeAnnotation) ??
    labelled ??
    (rule.notBeforeInMessage === true ? findTime(message) : undefined);
  return { notBefore, deadline: annotated(rule.deadlineAnnotation) ?? notBefore };
}

function eventOf(
  rule: Signal,
  { id, code, message = '' }: ParsedSignal,
  node: SignalNode,
  source: string,
): MachineEvent {
  const { notBefore, deadline } = timesOf(rule, node, message);
  const state: EventState =
    rule.state ?? (notBefore === undefined && deadline === undefined ? 'Active' : 'Scheduled');
  return {
    provider: 'node',
    id,
    kind: rule.kind,
    code,
    instance: instanceOf(node.providerId) ?? node.name,
    ...(node.providerId !== undefined && { resource: node.providerId }),
    ...(notBefore !== undefined && { notBefore }),
    ...(deadline !== undefined && { deadline }),
    state,
    description:
      rule.description ?? (message === '' ? `the node has the ${id.replace('/', ' ')}` : message),
    source,
  };
}

/**
 * Returns the events that a Node's conditions, taints, labels and annotations stand for, in the
 * order of the rules. Of several rules that match the same condition, taint key, label or
 * annotation, the first counts. A removed signal is not listed any more: there is no state
 * Completed. `instance` is that of the providerID, or the node's name where it has none. An
 * unreadable time counts as none.
 */
export function eventsOfNode(
  node: SignalNode,
  rules: readonly Signal[],
  source: string,
): readonly MachineEvent[] {
  const events = new Map<string, MachineEvent>();
  for (const rule of rules) {
    const found = find(rule, node);
    if (found !== undefined && !events.has(found.id))
      events.set(found.id, eventOf(rule, found, node, source));
  }
  return [...events.values()];
}

/** Reason why a source could not be read, and a remedy. */
export type SourceError = { readonly reason: TroubleReason; readonly message: string };

/** Result of a request, or the reason for its failure. */
export type Fetched<T> =
  | { readonly value: T; readonly trouble?: undefined }
  | { readonly value?: undefined; readonly trouble: SourceError };
