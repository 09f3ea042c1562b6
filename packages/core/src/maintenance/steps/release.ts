import type { KubeEvent } from '@drydock/apimachinery';
import { joinLimited, pathSegment } from '@drydock/apimachinery';
import { conditionsPatch, type WantedConditions } from '../../hold/conditions.ts';
import {
  type KindAdapter,
  leaseKey,
  leaseNames,
  type MaintenanceRequest,
  pathOf,
} from '../../request/request.ts';
import type { Write } from '../../write.ts';
import { kubeEventFor, type ReconcileContext, type ReconcileStep } from '../reconcile-context.ts';
import { leaseRelease, wantsNode } from './lease.ts';

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
  const asked = leaseNames(vanished ? adapters : adaptersOf([...present, ...leaving]), nodeName);
  return asked
    .filter(name => !wanted.has(leaseKey(name)))
    .flatMap(name => leaseRelease(context, name) ?? []);
}

/**
 * Removes the finalizer of deleted requests once the node is free of what only they wanted: first
 * the marks (the step before), then the node's conditions and the lease, then the finalizer.
 */
export const release: ReconcileStep = context => {
  const nobody = context.progresses.length === 0 && context.snapshot.node?.holdRecord === undefined;
  const clean = [...(nobody ? conditionsWrites(context, {}) : []), ...idleLeases(context)];
  if (clean.length > 0) {
    // The remaining requests go on meanwhile; only the finalizers wait.
    return { done: !nobody, context: { ...context, writes: [...context.writes, ...clean] } };
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
