import { own, readTime } from '@drydock/apimachinery';
import type { EventState, MachineEvent, Mark, Signal } from '@drydock/core/machine';
import { instanceOf } from '@drydock/core/machine';
import type { Node, NodeCondition, Taint } from '@drydock/core/node';
import { findTime, readEpochSeconds } from './times.ts';

/** Fields of a Node that are read. */
export type SignalNode = Pick<Node, 'name' | 'labels' | 'annotations' | 'taints' | 'providerId'> & {
  readonly conditions: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
};

/**
 * A signal on a node: an id that stays the same as long as the signal does, its code, and its own
 * message.
 */
type ParsedSignal = { readonly id: string; readonly code: string; readonly says?: string };

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
    return { id: `condition/${type}`, code: type, says: there.message };
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

function timesOf(rule: Signal, node: SignalNode, says: string) {
  const annotated = (key: string | undefined): Temporal.Instant | undefined =>
    key === undefined ? undefined : readTime(own(node.annotations, key));
  const labelled =
    rule.notBeforeLabel === undefined
      ? undefined
      : readEpochSeconds(own(node.labels, rule.notBeforeLabel) ?? '');
  const notBefore =
    annotated(rule.notBeforeAnnotation) ??
    labelled ??
    (rule.notBeforeInMessage === true ? findTime(says) : undefined);
  return { notBefore, deadline: annotated(rule.deadlineAnnotation) ?? notBefore };
}

function eventOf(
  rule: Signal,
  { id, code, says = '' }: ParsedSignal,
  node: SignalNode,
  source: string,
): MachineEvent {
  const { notBefore, deadline } = timesOf(rule, node, says);
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
      rule.description ?? (says === '' ? `the node has the ${id.replace('/', ' ')}` : says),
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
