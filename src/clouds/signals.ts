import type { NodeCondition, Taint } from '../core/hold/node.ts';
import type { EventKind, EventState, MachineEvent } from '../core/machine/event.ts';
import { readTime } from '../core/time.ts';
import { instanceOfProviderId } from './aws/region.ts';
import { findTime, readEpochSeconds } from './times.ts';

/** What is read of a Node. */
export type SignalNode = {
  readonly name: string;
  readonly providerID?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly conditions: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
};

type Mark = { readonly key: string; readonly value?: string };

/** What on a Node means something. What a signal leaves out fits everything. */
type NodeSignal =
  | {
      /** `messageContains` tells apart what shares a condition; letters' case makes no difference. */
      readonly condition: { readonly type: string; readonly status: string; readonly messageContains?: string };
    }
  | { readonly taint: Mark & { readonly effect?: string } }
  | { readonly annotation: Mark }
  | { readonly label: Mark };

export type SignalRule = NodeSignal & {
  readonly kind: EventKind;
  /** An annotation with an RFC 3339 time: when it may begin. */
  readonly notBeforeAnnotation?: string;
  /** An annotation with an RFC 3339 time: when the machine has to be empty. Left out: when it may begin. */
  readonly deadlineAnnotation?: string;
  /** A label with seconds since 1970: when it may begin. Labels cannot hold an RFC 3339 time. */
  readonly notBeforeLabel?: string;
  /** The condition's message has a time as in HTTP (`Wed, 26 Feb 2025 10:13:13 GMT`): when it may begin. */
  readonly notBeforeInMessage?: boolean;
  /** Left out: Scheduled where a time is known, else Active. */
  readonly state?: 'Scheduled' | 'Active';
  /** Left out: the condition's own message, or what the signal is. */
  readonly description?: string;
};

/** A signal that is there: a name for it that stays the same for as long as it does, the word for it, and what it says of itself. */
type Found = { readonly id: string; readonly code: string; readonly says?: string };

const fits = (mark: Mark, value: string | undefined): boolean => value !== undefined && (mark.value === undefined || mark.value === value);

const findMark = (what: string, mark: Mark, values: Readonly<Record<string, string>>): Found | undefined =>
  fits(mark, Object.hasOwn(values, mark.key) ? values[mark.key] : undefined) ? { id: `${what}/${mark.key}`, code: mark.key } : undefined;

const find = (signal: NodeSignal, node: SignalNode): Found | undefined => {
  if ('condition' in signal) {
    const { type, status, messageContains = '' } = signal.condition;
    const there = node.conditions.find(condition => condition.type === type && condition.status === status);
    if (there === undefined || !there.message.toLowerCase().includes(messageContains.toLowerCase())) return undefined;
    return { id: `condition/${type}`, code: type, says: there.message };
  }
  if ('taint' in signal) {
    const { taint } = signal;
    const is = ({ key, value = '', effect }: Taint): boolean =>
      key === taint.key && fits(taint, value) && (taint.effect === undefined || taint.effect === effect);
    return node.taints.some(is) ? { id: `taint/${taint.key}`, code: taint.key } : undefined;
  }
  if ('annotation' in signal) return findMark('annotation', signal.annotation, node.annotations);
  return findMark('label', signal.label, node.labels);
};

const timesOf = (rule: SignalRule, node: SignalNode, says: string) => {
  const annotated = (key: string | undefined): Temporal.Instant | undefined =>
    key === undefined ? undefined : readTime(node.annotations[key]);
  const labelled = rule.notBeforeLabel === undefined ? undefined : readEpochSeconds(node.labels[rule.notBeforeLabel] ?? '');
  const notBefore = annotated(rule.notBeforeAnnotation) ?? labelled ?? (rule.notBeforeInMessage === true ? findTime(says) : undefined);
  return { notBefore, deadline: annotated(rule.deadlineAnnotation) ?? notBefore };
};

const eventOf = (rule: SignalRule, { id, code, says = '' }: Found, node: SignalNode, source: string): MachineEvent => {
  const { notBefore, deadline } = timesOf(rule, node, says);
  const state: EventState = rule.state ?? (notBefore === undefined && deadline === undefined ? 'Active' : 'Scheduled');
  return {
    provider: 'node',
    id,
    kind: rule.kind,
    code,
    instance: instanceOfProviderId(node.providerID) ?? node.name,
    ...(node.providerID !== undefined && { resource: node.providerID }),
    ...(notBefore !== undefined && { notBefore }),
    ...(deadline !== undefined && { deadline }),
    state,
    description: rule.description ?? (says === '' ? `the node has the ${id.replace('/', ' ')}` : says),
    source,
  };
};

/**
 * The events that a Node's conditions, taints, labels and annotations stand for, in the order of the rules. Of several rules that fit the same
 * condition, taint key, label or annotation, the first counts. A signal that is gone is not listed any more: there is no state Completed.
 * `instance` is that of the providerID, or the node's name where it has none. An unreadable time counts as none.
 */
export const eventsOfNode = (node: SignalNode, rules: readonly SignalRule[], source: string): readonly MachineEvent[] => {
  const events = new Map<string, MachineEvent>();
  for (const rule of rules) {
    const found = find(rule, node);
    if (found !== undefined && !events.has(found.id)) events.set(found.id, eventOf(rule, found, node, source));
  }
  return [...events.values()];
};
