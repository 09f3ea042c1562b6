import type { Budget } from '../drain/budgets/budget.ts';
import { seedPolicy } from '../drain/policy.ts';
import type { EvictionRequest } from '../drain/responders/eviction-request.ts';
import type { Lease } from '../lease/lease.ts';
import { emptyMemo, type NodeSnapshot } from '../maintenance/snapshot.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import {
  type KindAdapter,
  type MaintenanceRequest,
  noHistory,
  type Report,
} from '../request/request.ts';

/**
 * Small objects for tests: everything has a plain default, and a test says only what matters to it.
 */

export function at(seconds: number): Temporal.Instant {
  return Temporal.Instant.from('2026-11-21T08:00:00Z').add({
    milliseconds: Math.round(seconds * 1000),
  });
}

export function makePod(name: string, over: Partial<Pod> = {}): Pod {
  const namespace = over.namespace ?? 'shop';
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid: `uid-${namespace}-${name}`,
    resourceVersion: '10',
    nodeName: 'n1',
    labels: { app: 'web' },
    phase: 'Running',
    ready: true,
    priority: 0,
    owner: { kind: 'ReplicaSet', name: 'web-1', uid: 'rs', apiVersion: 'apps/v1' },
    mirror: false,
    localData: false,
    claims: [],
    createdAt: at(-1000),
    deletionGraceSeconds: 30,
    finalizers: [],
    graceSeconds: 30,
    ...over,
  };
}

export function makeBudget(name: string, over: Partial<Budget> = {}): Budget {
  return {
    key: `shop/${name}`,
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    resourceVersion: '20',
    selector: { matchLabels: { app: 'web' } },
    fresh: true,
    disruptionsAllowed: 1,
    currentHealthy: 4,
    desiredHealthy: 3,
    expectedPods: 4,
    disruptedPods: [],
    unhealthyPodEvictionPolicy: 'IfHealthyBudget',
    ...over,
  };
}

/** Of the pod shop/a; no controller has looked at it. */
export function makeEvictionRequest(over: Partial<EvictionRequest> = {}): EvictionRequest {
  return {
    key: 'shop/drydock-uid-shop-a',
    namespace: 'shop',
    name: 'drydock-uid-shop-a',
    uid: 'request-uid',
    resourceVersion: '5',
    podUid: 'uid-shop-a',
    nodeName: 'n1',
    createdAt: at(0),
    isObserved: false,
    isOver: false,
    ...over,
  };
}

export function makeNode(over: Partial<Node> = {}): Node {
  return {
    key: 'n1',
    name: 'n1',
    uid: 'node-uid',
    resourceVersion: '5',
    deleting: false,
    labels: {},
    annotations: {},
    unschedulable: false,
    taints: [],
    conditions: [],
    ...over,
  };
}

const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** A kind that stores its report as it is. */
const plainAdapter: KindAdapter = {
  name: 'plains.test',
  apiVersion: 'test/v1',
  kind: 'Plain',
  path: '/apis/test/v1/plains',
  finalizer: 'test/hold',
  statusSubresource: true,
  quorum: 'everywhere',
  marks: stage => ({
    unschedulable: stage !== 'Announce',
    taints:
      stage === 'Announce' ? [] : [unschedulable, { key: 'test/drain', effect: 'NoSchedule' }],
    labels: {},
  }),
  lease: nodeName => ({
    namespace: 'leases',
    name: `node-${nodeName}`,
    holder: 'us',
    released: 'deleted',
  }),
  component: 'test',
  events: {
    begun: { reason: 'Begun', message: 'begun' },
    succeeded: { reason: 'Succeeded', message: 'succeeded' },
    failed: { reason: 'Failed', message: 'failed' },
    removed: { reason: 'Removed', message: 'removed' },
    uncordoned: { reason: 'Uncordoned', message: 'uncordoned' },
  },
  status: (report: Report) => ({
    phase: report.state,
    ...(report.problem && { problem: report.problem.message }),
    ...(report.pods && { gone: report.pods.gone, toEvict: report.pods.toEvict }),
    blockers: report.blockers.map(({ reason, pod }) => `${reason} ${pod?.name ?? ''}`),
  }),
  readsDifferentlyAt: () => undefined,
  read: () => 'not read in tests',
};

export function makeRequest(
  name: string,
  over: Partial<MaintenanceRequest> = {},
): MaintenanceRequest {
  return {
    key: `plains.test//${name}`,
    adapter: plainAdapter,
    name,
    uid: `uid-${name}`,
    resourceVersion: '30',
    generation: 1,
    createdAt: at(0),
    deleting: false,
    finalizers: ['test/hold'],
    claim: 'ours',
    nodeName: 'n1',
    level: 'Drain',
    mayLoseQuorum: false,
    policy: seedPolicy,
    history: noHistory,
    status: {},
    ...over,
  };
}

export const ourLease: Lease = {
  key: 'leases/node-n1',
  uid: 'lease-uid',
  resourceVersion: '40',
  holder: 'us',
  durationSeconds: 3600,
  acquireTime: at(0),
  renewTime: at(0),
  transitions: 0,
};

/** A node that is held as `plainDialect` holds it. */
export const heldNode = makeNode({
  unschedulable: true,
  taints: [unschedulable, { key: 'test/drain', effect: 'NoSchedule' }],
  holdRecord:
    '{"unschedulable":false,"taints":{"node.kubernetes.io/unschedulable:NoSchedule":null,"test/drain:NoSchedule":null},"labels":{},"kinds":["plains.test"]}',
});

export function makeSnapshot(over: Partial<NodeSnapshot> = {}): NodeSnapshot {
  return {
    nodeName: 'n1',
    node: heldNode,
    requests: [makeRequest('one')],
    pods: [],
    podsConfirmed: true,
    budgets: [],
    leases: new Map([[ourLease.key, ourLease]]),
    attachments: [],
    volumes: new Map(),
    daemonSets: new Set(['shop/agent']),
    attempts: new Map(),
    inFlight: [],
    memo: emptyMemo,
    adapters: [plainAdapter],
    missingKinds: new Set(),
    windows: [],
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    ...over,
  };
}
