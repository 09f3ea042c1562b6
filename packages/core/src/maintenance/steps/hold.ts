import type { KubeEvent } from '@drydock/apimachinery';
import { pathSegment, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import {
  discardRecordChange,
  type HoldChange,
  holdChange,
  inferredRecord,
  unionMarks,
} from '../../hold/hold.ts';
import {
  emptyRecord,
  type HoldRecord,
  holdersIn,
  isOutdated,
  readHoldRecord,
} from '../../hold/hold-record.ts';
import type { Node } from '../../node/node.ts';
import { type KindAdapter, type MaintenanceRequest, marksOf } from '../../request/request.ts';
import type { Write } from '../../write.ts';
import { markedByPredecessor } from '../decision.ts';
import {
  kubeEventFor,
  nodeSubject,
  type ReconcileContext,
  type ReconcileStep,
} from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';

/** Seconds to wait for an in-flight response before the next look. */
const answerWithin = 1;

function assumedBefore(node: Node, requests: readonly MaintenanceRequest[]): HoldRecord {
  const marks = requests
    .filter(request => markedByPredecessor(node, request))
    .map(({ adapter }) => adapter.marks('Drain'));
  return marks.length === 0 ? emptyRecord : inferredRecord(unionMarks(marks));
}

/**
 * Returns the kinds that hold the node according to its record while the cluster does not serve
 * them, so that their objects cannot be read: their marks stay. The hold of a kind that is gone for
 * good has to be removed by hand; a short absence must not cost a node its hold.
 */
function missingHolders(
  node: Node,
  { adapters, missingKinds }: NodeSnapshot,
): readonly KindAdapter[] {
  if (missingKinds.size === 0) return [];
  const kinds = holdersIn(node.holdRecord);
  return adapters.filter(({ name }) => missingKinds.has(name) && kinds.includes(name));
}

const component = 'drydock';

/**
 * Seconds within which a write to the node's spec counts as the one that removed marks: the marks
 * are restored at once.
 */
const justNow = 30;

/**
 * Returns the field manager that removed the marks, as far as managedFields show; they do not show
 * a writer that sets no field.
 */
function removerOf({ specWriter }: Node, now: Temporal.Instant): string | undefined {
  return specWriter !== undefined && Math.abs(secondsBetween(specWriter.at, now)) <= justNow
    ? specWriter.name
    : undefined;
}

function lostText(lost: readonly string[], by: string | undefined): string {
  return `${lost.join(', ')} was removed while the node is in maintenance${by === undefined ? '' : ` (${by} wrote to it last)`}; restored. Delete the maintenance to release the node`;
}

function announcements(
  node: Node,
  change: HoldChange,
  requests: readonly MaintenanceRequest[],
  given: boolean,
  now: Temporal.Instant,
): readonly KubeEvent[] {
  const about = nodeSubject(node);
  const [request] = requests;
  const texts: KubeEvent[] = [];
  if (change.lost.length > 0) {
    texts.push({
      type: 'Warning',
      reason: 'HoldRestored',
      message: lostText(change.lost, removerOf(node, now)),
      component,
      about,
    });
  }
  if (!given || request === undefined) return texts;
  if (change.uncordons)
    texts.push(kubeEventFor(request, 'Normal', request.adapter.events.uncordoned, about));
  else if (node.unschedulable) {
    const message = 'Released a node; it stays cordoned, as it was before the maintenance';
    texts.push({ type: 'Normal', reason: 'NodeReleased', message, component, about });
  }
  return texts;
}

/** Returns the events that are sent once, when the node is held for the first time. */
function stakes({ progresses }: ReconcileContext): readonly KubeEvent[] {
  return progresses.flatMap(({ request, holds, atStake }) =>
    holds && atStake !== undefined
      ? [kubeEventFor(request, 'Warning', { reason: 'QuorumAtRisk', message: atStake })]
      : [],
  );
}

function holdWrite(
  node: Node,
  change: HoldChange,
  requests: readonly MaintenanceRequest[],
  given: boolean,
  now: Temporal.Instant,
): Write {
  return {
    description: given
      ? 'release the node'
      : change.lost.length > 0
        ? 'restore the hold'
        : 'hold the node',
    method: 'PATCH',
    style: 'merge',
    path: `/api/v1/nodes/${pathSegment(node.name)}`,
    body: change.patch,
    cache: 'nodes',
    events: announcements(node, change, requests, given, now),
  };
}

function restoredAgain(
  { restored, now }: ReconcileContext,
  node: Node,
): NonNullable<ReconcileContext['restored']> {
  const by = removerOf(node, now) ?? restored?.by;
  return {
    count: (restored?.count ?? 0) + 1,
    since: restored?.since ?? now,
    lastAt: now,
    ...(by !== undefined && { by }),
  };
}

/**
 * Reports whether evictions have been sent. They cannot be cancelled: the node is released only
 * after their responses.
 */
function underWay({ snapshot }: ReconcileContext): boolean {
  return snapshot.inFlight.some(
    ({ nodeName, state }) => nodeName === snapshot.nodeName && state === 'sent',
  );
}

/**
 * Reports whether no request is left and another party has already released the node: only the
 * record remains to be removed.
 */
function isReleasedByOthers(node: Node, context: ReconcileContext): boolean {
  return (
    context.snapshot.requests.length === 0 &&
    isOutdated(
      readHoldRecord(node.holdRecord, marksOf(context.snapshot.adapters)) ?? emptyRecord,
      node.taints,
    )
  );
}

function changeOf(
  node: Node,
  context: ReconcileContext,
  holders: readonly MaintenanceRequest[],
  missing: readonly KindAdapter[],
): HoldChange | undefined {
  if (missing.length === 0 && isReleasedByOthers(node, context)) return discardRecordChange(node);
  const wanted = unionMarks([
    ...holders.map(({ adapter, level }) => adapter.marks(level)),
    ...missing.map(({ marks }) => marks('Drain')),
  ]);
  const kinds = [...holders.map(({ adapter }) => adapter), ...missing].map(({ name }) => name);
  return holdChange(node, wanted, {
    marks: marksOf(context.snapshot.adapters),
    kinds,
    assumed: assumedBefore(node, requestsOf(context)),
  });
}

function requestsOf({ progresses, leaving }: ReconcileContext): readonly MaintenanceRequest[] {
  return [...progresses.map(({ request }) => request), ...leaving];
}

/**
 * Sets in one write the marks that all requests together want, removes those that none of them
 * wants any more, and restores those that another party removed. No later step runs before the
 * result has been observed.
 */
export const hold: ReconcileStep = context => {
  const { node } = context.snapshot;
  if (node === undefined) return { done: true, context };
  const holders = context.progresses.filter(({ holds }) => holds).map(({ request }) => request);
  const missing = missingHolders(node, context.snapshot);
  const change = changeOf(node, context, holders, missing);
  if (change === undefined) return { done: true, context };
  const given = holders.length === 0 && missing.length === 0;
  if (given && underWay(context)) {
    return {
      done: false,
      context: {
        ...context,
        moments: [...context.moments, secondsAfter(context.now, answerWithin)],
      },
    };
  }
  const write = holdWrite(node, change, given ? requestsOf(context) : holders, given, context.now);
  const warned = { ...write, events: [...stakes(context), ...write.events] };
  const restored = change.lost.length === 0 ? undefined : restoredAgain(context, node);
  return {
    done: false,
    context: { ...context, ...(restored && { restored }), writes: [...context.writes, warned] },
  };
};
