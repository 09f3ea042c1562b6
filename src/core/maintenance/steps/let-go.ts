import { fewOf } from '../../drain/blocker.ts';
import { conditionsPatch, type WantedConditions } from '../../hold/conditions.ts';
import { type Dialect, leaseKey, leaseNames, pathOf, type Request } from '../../request/request.ts';
import type { Announcement, Write } from '../decision.ts';
import { announcement, type Course, type Step } from '../reconcile-context.ts';
import { leaseRelease, wantsNode } from './lease.ts';

/** The write that makes the node's conditions say this; none when they do. */
export const conditionsWrites = ({ picture, now }: Course, wanted: WantedConditions): readonly Write[] => {
  const { node } = picture;
  const body = node && conditionsPatch(node, wanted, now);
  if (node === undefined || body === undefined) return [];
  return [
    {
      what: 'report on the node',
      method: 'PATCH',
      style: 'strategic',
      path: `/api/v1/nodes/${encodeURIComponent(node.name)}/status`,
      body,
      store: 'nodes',
      announce: [],
    },
  ];
};

const goesOn = (request: Request, vms: readonly string[]): Announcement =>
  announcement(request, 'Warning', {
    reason: 'VirtualMachinesStillMoving',
    message: `The node is given back; VMs whose migration had begun move on: ${fewOf(vms)}`,
  });

const removeFinalizer = (request: Request, stillMoving: readonly string[]): Write => ({
  what: 'let go',
  method: 'PATCH',
  style: 'merge',
  path: pathOf(request),
  body: {
    metadata: {
      resourceVersion: request.resourceVersion,
      finalizers: request.finalizers.filter(finalizer => finalizer !== request.dialect.finalizer),
    },
  },
  store: 'requests',
  dialect: request.dialect.name,
  announce: [
    announcement(request, 'Normal', request.dialect.events.removed),
    ...(stillMoving.length > 0 ? [goesOn(request, stillMoving)] : []),
  ],
});

/** Leases that were asked for on this node and that no request wants any more. A hold whose request vanished leaves one of any kind. */
const idleLeases = (course: Course): readonly Write[] => {
  const { picture, standings, leaving } = course;
  const { node, nodeName, requests, dialects } = picture;
  const dialectsOf = (requests: readonly Request[]): readonly Dialect[] => requests.map(({ dialect }) => dialect);
  const present = standings.map(({ request }) => request);
  const wanting = standings.filter(wantsNode);
  const wanted = new Set(
    leaseNames(
      wanting.map(({ request }) => request.dialect),
      nodeName,
    ).map(leaseKey),
  );
  const vanished = requests.length === 0 && node?.before === undefined;
  const asked = leaseNames(vanished ? dialects : dialectsOf([...present, ...leaving]), nodeName);
  return asked.filter(name => !wanted.has(leaseKey(name))).flatMap(name => leaseRelease(course, name) ?? []);
};

/**
 * Requests that are being deleted lose their finalizer once the node is without what only they wanted: first the marks (the step before),
 * then what was said on the node and the lease, then the finalizer.
 */
export const letGo: Step = course => {
  const nobody = course.standings.length === 0 && course.picture.node?.before === undefined;
  const clean = [...(nobody ? conditionsWrites(course, {}) : []), ...idleLeases(course)];
  if (clean.length > 0) {
    // Whoever stays goes on meanwhile; only the finalizers wait.
    return { done: !nobody, course: { ...course, writes: [...course.writes, ...clean] } };
  }
  return {
    done: true,
    course: { ...course, writes: [...course.writes, ...course.leaving.map(request => removeFinalizer(request, course.stillMoving))] },
  };
};
