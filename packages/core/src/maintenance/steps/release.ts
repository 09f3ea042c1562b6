import { joinLimited, type KubeEvent, pathSegment, secondsAfter } from '@drydock/apimachinery';
import { conditionsPatch, type WantedConditions } from '../../hold/hold-record.ts';
import { isTerminating } from '../../pod/pod.ts';
import {
  type KindAdapter,
  leaseKey,
  leaseNames,
  type MaintenanceRequest,
  pathOf,
} from '../../request/request.ts';
import { cancelEvictions as callBack } from '../../vm/vm-pod.ts';
import type { Write } from '../../write.ts';
import { isHeldAlready } from '../decision.ts';
import {
  isActive,
  isDraining,
  kubeEventFor,
  type ReconcileContext,
  type ReconcileStep,
} from '../reconcile-context.ts';
import type { Self } from '../snapshot.ts';
import { outOfTime, rungOf } from './drain/view.ts';
import { leaseRelease, wantsNode } from './lease.ts';

/**
 * Reports whether the operator's own pod has been deleted: its process runs for some seconds more.
 */
function isGoing(self: Self | undefined): boolean {
  return self?.pods?.some(pod => pod.key === self.pod && isTerminating(pod)) === true;
}

function barredFor({ pod }: Self): {
  readonly barred: true;
  readonly problem: { readonly reason: string; readonly message: string };
} {
  const message = `waits for the next operator: pod ${pod} of this one is being deleted`;
  return { barred: true, problem: { reason: 'OperatorGoes', message } };
}

/**
 * Bars new nodes while the operator's pod terminates: such a node may be the only one left on which
 * the next operator could run.
 */
export const succession: ReconcileStep = (context: ReconcileContext) => {
  const { node, self } = context.snapshot;
  if (node === undefined || self === undefined || !isGoing(self)) return { done: true, context };
  const barred = barredFor(self);
  const progresses = context.progresses.map(progress =>
    progress.request.level === 'Announce' || isHeldAlready(node, progress.request)
      ? progress
      : { ...progress, ...barred },
  );
  return { done: true, context: { ...context, progresses } };
};

/**
 * Applies the time limit of a drain, which bounds all of it: pods that leave, volumes that are
 * detached, servers of a hypervisor that move. The step `drain` reports it while pods are left;
 * this step reports it for the phases after that.
 */
export const deadline: ReconcileStep = context => ({
  done: true,
  context: {
    ...context,
    progresses: context.progresses.map(progress => {
      const isOpen =
        isDraining(progress) &&
        !progress.paused &&
        progress.failure === undefined &&
        progress.drain?.complete === false;
      return isOpen ? { ...progress, ...outOfTime(rungOf(progress, context.now)) } : progress;
    }),
  },
});

/** Reports whether evictions of its pods may have been sent. */
function hasBegun({ history: { drainStartedAt, state } }: MaintenanceRequest): boolean {
  return (
    drainStartedAt !== undefined ||
    state === 'Draining' ||
    state === 'Detaching' ||
    state === 'Drained' ||
    state === 'Failed'
  );
}

/**
 * Reports whether the drain that requested the evacuations has ended or pauses, and no other party
 * is seen to want the VMs gone.
 */
function wantsThemBack({ snapshot: { node }, progresses, leaving }: ReconcileContext): boolean {
  if (progresses.some(isActive) || node === undefined) return false;
  if (
    progresses.some(
      ({ holds, paused, failure, request }) =>
        holds && hasBegun(request) && (paused || failure !== undefined),
    )
  )
    return true;
  // A node that stays cordoned was so before: another party may be draining it.
  return leaving.some(hasBegun) && node.holdRecord === undefined && !node.unschedulable;
}

/**
 * Cancels evacuations of VMs: an uncordon alone leaves the VMs marked, and KubeVirt would go on to
 * move them. Migrations that have not begun are cancelled; the rest is named.
 */
export const cancelVmEvictions: ReconcileStep = context => {
  const { vms, nodeName, memo: notes } = context.snapshot;
  if (vms === undefined || !wantsThemBack(context)) return { done: true, context };
  const {
    writes,
    goingOn,
    asked: requested,
    waits,
  } = callBack(nodeName, vms, notes.recalled, context.now);
  const after: ReconcileContext = {
    ...context,
    writes: [...context.writes, ...writes],
    stillMoving: goingOn,
    recalled: requested,
  };
  if (!waits) return { done: true, context: after };
  const requeueAt = secondsAfter(context.now, 1);
  return {
    done: context.leaving.length === 0,
    context: { ...after, moments: [...context.moments, requeueAt] },
  };
};

/** Returns the write that sets the node's conditions; none if they are set already. */
export function conditionsWrites(
  { snapshot, now }: ReconcileContext,
  wanted: WantedConditions,
): readonly Write[] {
  const { node } = snapshot;
  const body = node && conditionsPatch(node, wanted, now);
  if (node === undefined || body === undefined) return [];
  return [
    {
      description: 'report on the node',
      method: 'PATCH',
      style: 'strategic',
      path: `/api/v1/nodes/${pathSegment(node.name)}/status`,
      body,
      cache: 'nodes',
      events: [],
    },
  ];
}

function goesOn(request: MaintenanceRequest, vms: readonly string[]): KubeEvent {
  return kubeEventFor(request, 'Warning', {
    reason: 'VirtualMachinesStillMoving',
    message: `The node is released; VMs whose migration had begun move on: ${joinLimited(vms)}`,
  });
}

function removeFinalizer(request: MaintenanceRequest, stillMoving: readonly string[]): Write {
  return {
    description: 'let go',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(request),
    body: {
      metadata: {
        resourceVersion: request.resourceVersion,
        finalizers: request.finalizers.filter(finalizer => finalizer !== request.adapter.finalizer),
      },
    },
    cache: 'requests',
    adapter: request.adapter.name,
    events: [
      kubeEventFor(request, 'Normal', request.adapter.events.removed),
      ...(stillMoving.length > 0 ? [goesOn(request, stillMoving)] : []),
    ],
  };
}

/**
 * Returns the writes that release leases of this node that no request wants any more. A hold whose
 * request vanished leaves a lease of any kind.
 */
function idleLeases(context: ReconcileContext): readonly Write[] {
  const { snapshot, progresses, leaving } = context;
  const { node, nodeName, requests, adapters } = snapshot;
  const adaptersOf = (requests: readonly MaintenanceRequest[]): readonly KindAdapter[] =>
    requests.map(({ adapter }) => adapter);
  const present = progresses.map(({ request }) => request);
  const wanting = progresses.filter(wantsNode);
  const wanted = new Set(
    leaseNames(
      wanting.map(({ request }) => request.adapter),
      nodeName,
    ).map(leaseKey),
  );
  const vanished = requests.length === 0 && node?.holdRecord === undefined;
  const requested = leaseNames(
    vanished ? adapters : adaptersOf([...present, ...leaving]),
    nodeName,
  );
  return requested
    .filter(name => !wanted.has(leaseKey(name)))
    .flatMap(name => leaseRelease(context, name) ?? []);
}

/**
 * Removes the finalizer of deleted requests once the node is free of what only they wanted: first
 * the marks (the step before), then the node's conditions and the lease, then the finalizer.
 */
export const release: ReconcileStep = context => {
  const isUnwanted =
    context.progresses.length === 0 && context.snapshot.node?.holdRecord === undefined;
  const clean = [...(isUnwanted ? conditionsWrites(context, {}) : []), ...idleLeases(context)];
  if (clean.length > 0) {
    // The remaining requests go on meanwhile; only the finalizers wait.
    return { done: !isUnwanted, context: { ...context, writes: [...context.writes, ...clean] } };
  }
  return {
    done: true,
    context: {
      ...context,
      writes: [
        ...context.writes,
        ...context.leaving.map(request => removeFinalizer(request, context.stillMoving)),
      ],
    },
  };
};
