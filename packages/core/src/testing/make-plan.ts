import type { Node } from '../node/node.ts';
import type { InFlight, NodeVerdict } from '../plan/in-flight.ts';
import { type Plan, planFinalizer, type Run } from '../plan/plan.ts';
import type { Approval, PlanNode, PlanSnapshot, WorkPod } from '../plan/snapshot.ts';
import { at, makeNode } from './make.ts';

/**
 * Small plans for tests: every node is due once, one after the other, and nothing is done on it but
 * to drain it.
 */

/** What the status says. */
const stored = {
  run: { id: '1', revision: 'r1', startedAt: at(-4000) },
  inFlight: [],
  passedOver: [],
  preparing: [],
  hookRuns: [],
  gateStates: new Map(),
  status: {},
};

/** A run in which this stage has soaked for so many seconds. */
export function soakedRun(stage: string, seconds: number): Run {
  return { ...stored.run, soak: { stage, since: at(-seconds), lacking: [] } };
}

export function makePlan(over: Partial<Plan> = {}): Plan {
  return {
    key: 'kernel',
    name: 'kernel',
    uid: 'uid-kernel',
    resourceVersion: '7',
    generation: 1,
    createdAt: at(-100),
    deleting: false,
    finalizers: [planFinalizer],
    nodeSelector: {},
    membership: 'Follow',
    expressions: {},
    rebooted: 'Optional',
    provenWithinSeconds: 600,
    concurrency: { maxInFlight: 1, perTopology: [], foreignCordon: 'Wait' },
    order: ['Name'],
    first: [],
    stages: [],
    controlPlane: 'AsSelected',
    windows: 'Respect',
    drain: {},
    work: { kind: 'none' },
    hooks: [],
    gates: [],
    soakSeconds: 0,
    soakAfterReleaseSeconds: 0,
    needsApproval: false,
    onFailure: 'Hold',
    halt: {},
    onDelete: 'Release',
    paused: false,
    aborted: false,
    runId: '1',
    revision: 'r1',
    specHash: 'h1',
    skips: new Map(),
    retries: new Map(),
    ...stored,
    ...over,
  };
}

const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' };

/** A node that is Ready, called as its uid says. */
export function makeReadyNode(name: string, over: Partial<Node> = {}): Node {
  return makeNode({
    key: name,
    name,
    uid: `uid-${name}`,
    bootId: `${name}-boot-1`,
    conditions: [ready],
    ...over,
  });
}

export function makePlanNode(node: Node, over: Partial<PlanNode> = {}): PlanNode {
  return {
    node,
    createdAt: at(-5000),
    selected: true,
    due: true,
    done: true,
    finished: false,
    rank: 0,
    ...over,
  };
}

export function makeInFlight(node: string, over: Partial<InFlight> = {}): InFlight {
  return {
    node,
    uid: `uid-${node}`,
    stage: 'rest',
    revision: 'r1',
    work: { kind: 'none', rebootsNode: false, timeoutSeconds: 0 },
    state: 'Starting',
    startedAt: at(-60),
    since: at(-60),
    attempt: 0,
    ...over,
  };
}

export function makeVerdict(node: string, over: Partial<NodeVerdict> = {}): NodeVerdict {
  return {
    node,
    uid: `uid-${node}`,
    stage: 'rest',
    verdict: 'Done',
    state: 'Soaking',
    message: 'Done',
    startedAt: at(-600),
    completedAt: at(-300),
    attempts: 1,
    rebooted: false,
    held: false,
    requeues: 0,
    ...over,
  };
}

/** Given to the plan as it is made here, of the beginning of its run. */
export function makeApproval(over: Partial<Approval> = {}): Approval {
  return {
    key: 'a',
    uid: 'a',
    resourceVersion: '1',
    createdAt: at(-100),
    plan: 'kernel',
    run: '1',
    revision: 'r1',
    specHash: 'h1',
    ...over,
  };
}

/** A pod that the plan has made, and that runs. */
export function makeWorkPod(name: string, nodeName: string, over: Partial<WorkPod> = {}): WorkPod {
  return {
    key: `drydock-plans/${name}`,
    name,
    namespace: 'drydock-plans',
    uid: `pod-${nodeName}`,
    resourceVersion: '1',
    nodeName,
    plan: 'kernel',
    ownerUid: 'uid-kernel',
    isMirror: false,
    deleting: false,
    phase: 'Running',
    ran: over.phase !== 'Pending',
    killed: false,
    message: '',
    ...over,
  };
}

type SnapshotFields = Partial<Omit<PlanSnapshot, 'nodes' | 'slices'>> & {
  readonly nodes?: readonly PlanNode[];
  readonly verdicts?: readonly NodeVerdict[];
};

export function makePlanSnapshot({
  nodes = [],
  verdicts = [],
  ...over
}: SnapshotFields = {}): PlanSnapshot {
  return {
    plan: makePlan(),
    nodes: new Map(nodes.map(one => [one.node.name, one])),
    outages: new Map(),
    children: new Map(),
    changedChildren: new Set(),
    replacements: new Map(),
    pods: new Map(),
    slices: [
      {
        key: 's',
        name: 's',
        uid: 's',
        resourceVersion: '1',
        planUid: 'uid-kernel',
        run: '1',
        revision: 'r1',
        slice: 0,
        verdicts,
      },
    ],
    outdated: [],
    unfinished: new Set(),
    doneSince: new Map(),
    gates: new Map(),
    approvals: [],
    others: [],
    members: [],
    windows: [],
    settings: { workNamespace: 'drydock-plans', machineNamespace: 'drydock-system' },
    refusals: new Map(),
    unanswered: new Set(),
    watch: 'w1',
    nonce: 'x7',
    ...over,
  };
}
