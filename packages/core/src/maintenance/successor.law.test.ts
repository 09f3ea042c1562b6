import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seedPolicy } from '../drain/policy.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import { type MaintenanceRequest, noHistory } from '../request/request.ts';
import {
  at,
  heldNode,
  makeBudget,
  makeNode,
  makePod,
  makeRequest,
  makeSnapshot,
  ourLease,
} from '../testing/make.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { emptyMemo } from './snapshot.ts';
import type { OperatorPod } from './successor.ts';

/**
 * One to three nodes, one or two replicas of the operator that may run on all of them or on some,
 * and maintenances that come at any moment, between any two steps of the operator, the scheduler
 * and kubelets: at every end an operator runs, or can be scheduled, and every node is given back
 * without anybody's help.
 */

const ready = { type: 'Ready', status: 'True', reason: '', message: '' };
const labels = { app: 'operator' };
const role = 'role';

type Shape = {
  readonly nodes: number;
  readonly replicas: number;
  /** Nodes that it may run on: all of them, or those with the role. */
  readonly roles: readonly boolean[] | undefined;
  /** Budgets are not asked. */
  readonly deletes: boolean;
};

const deeds = ['maintain', 'look', 'schedule', 'start', 'end', 'lead'] as const;
type Deed = { readonly what: (typeof deeds)[number]; readonly of: number };

/** Looks take most of the time, so that a maintenance is made in the middle of another one. */
const weights: Readonly<Record<Deed['what'], number>> = {
  maintain: 2,
  look: 12,
  schedule: 1,
  start: 1,
  end: 1,
  lead: 1,
};

class OperatorWorld {
  readonly shape: Shape;
  readonly nodes = new Map<string, Node>();
  readonly pods = new Map<string, OperatorPod>();
  readonly requests = new Map<string, MaintenanceRequest>();
  leader: string | undefined;
  #handedOver = false;
  #made = 0;

  constructor(shape: Shape) {
    this.shape = shape;
    for (let index = 1; index <= shape.nodes; index += 1) {
      const isPicked = shape.roles?.[index - 1] !== false;
      this.#setNode(`n${index}`, { labels: isPicked ? { [role]: '' } : {} });
    }
    for (let count = 0; count < shape.replicas; count += 1) this.#make();
    this.#settle(() => this.#schedule());
    for (const pod of this.pods.values()) this.#start(pod);
    this.#lead();
  }

  get running(): readonly OperatorPod[] {
    return [...this.pods.values()].filter(({ ready, nodeName }) => ready && nodeName !== '');
  }

  /** Where the scheduler would put a pod now, by other means than the operator's. */
  get free(): readonly string[] {
    return [...this.nodes.values()]
      .filter(node => !node.unschedulable && Object.hasOwn(node.labels, role))
      .map(({ name }) => name);
  }

  do({ what, of }: Deed): void {
    const names = [...this.nodes.keys()];
    const name = names[of % names.length] ?? '';
    const pods = [...this.pods.values()];
    const pod = pods[of % Math.max(1, pods.length)];
    if (what === 'maintain') this.#maintain(name);
    if (what === 'look') this.#look(name);
    if (what === 'schedule') this.#schedule();
    if (what === 'start' && pod !== undefined) this.#start(pod);
    if (what === 'end' && pod !== undefined) this.#end(pod);
    if (what === 'lead') this.#lead();
  }

  /** Everybody does what they can, until nothing changes. */
  rest(): void {
    this.#settle(() => {
      this.#lead();
      for (const name of this.nodes.keys()) this.#look(name);
      this.#schedule();
      for (const pod of Array.from(this.pods.values())) {
        this.#end(pod);
        this.#start(pod);
      }
    });
  }

  /** All maintenances are deleted. Only an operator gives their nodes back. */
  giveBack(): void {
    for (const [name, request] of this.requests)
      this.requests.set(name, { ...request, deleting: true });
    this.rest();
  }

  #settle(turn: () => void): void {
    for (let count = 0, before = ''; count < 100 && before !== this.#picture(); count += 1) {
      before = this.#picture();
      turn();
    }
  }

  #picture(): string {
    const pods = [...this.pods.values()].map(pod => [
      pod.name,
      pod.nodeName,
      pod.ready,
      pod.deletionTimestamp !== undefined,
      pod.unschedulable,
    ]);
    return JSON.stringify([
      pods,
      [...this.nodes.values()],
      [...this.requests.keys()],
      this.leader,
      this.#handedOver,
    ]);
  }

  #setNode(name: string, more: Partial<Node>): void {
    const before =
      this.nodes.get(name) ?? makeNode({ key: name, name, uid: name, conditions: [ready] });
    this.nodes.set(name, { ...before, ...more });
  }

  #make(): void {
    this.#made += 1;
    const pod = makePod(`drydock-${this.#made}`, {
      namespace: 'drydock',
      nodeName: '',
      labels,
      phase: 'Pending',
      ready: false,
    });
    const placement = this.shape.roles === undefined ? {} : { nodeSelector: { [role]: '' } };
    this.pods.set(pod.key, { ...pod, placement });
  }

  #schedule(): void {
    for (const pod of this.pods.values()) {
      if (pod.nodeName !== '') continue;
      const taken = new Set([...this.pods.values()].map(({ nodeName }) => nodeName));
      const free =
        this.shape.roles === undefined
          ? [...this.nodes.values()].filter(node => !node.unschedulable).map(({ name }) => name)
          : this.free;
      const [nodeName] = free.toSorted(
        (one, other) => Number(taken.has(one)) - Number(taken.has(other)),
      );
      const { unschedulable: _, ...rest } = pod;
      this.pods.set(
        pod.key,
        nodeName === undefined
          ? { ...rest, unschedulable: '0 nodes are available' }
          : { ...rest, nodeName },
      );
    }
  }

  #start(pod: OperatorPod): void {
    const now = this.pods.get(pod.key);
    if (now?.nodeName && now.deletionTimestamp === undefined)
      this.pods.set(now.key, { ...now, phase: 'Running', ready: true });
  }

  #end(pod: OperatorPod): void {
    if (pod.deletionTimestamp === undefined) return;
    this.pods.delete(pod.key);
    if (this.leader === pod.key) this.leader = undefined;
  }

  /**
   * Whoever runs may lead where nobody does: also one that is being deleted, until its kubelet has
   * ended it.
   */
  #lead(): void {
    if (this.leader !== undefined) return;
    const [next] = this.running;
    if (next === undefined) return;
    this.leader = next.key;
  }

  #maintain(nodeName: string): void {
    if (this.requests.has(nodeName)) return;
    const policy = { ...seedPolicy, disableEviction: this.shape.deletes };
    this.requests.set(
      nodeName,
      makeRequest(nodeName, {
        nodeName,
        policy,
        history: { ...noHistory, state: 'Draining', drainStartedAt: at(0) },
      }),
    );
  }

  #look(nodeName: string): void {
    const request = this.requests.get(nodeName);
    const node = this.nodes.get(nodeName);
    if (this.leader === undefined || request === undefined || node === undefined) return;
    if (request.deleting) {
      this.requests.delete(nodeName);
      this.#release(nodeName);
      return;
    }
    this.#carryOut(node, this.#decide(node, request));
  }

  #decide(node: Node, request: MaintenanceRequest): Decision {
    const pods = [...this.pods.values()];
    const healthy = pods.filter(
      ({ ready, deletionTimestamp }) => ready && deletionTimestamp === undefined,
    ).length;
    const counts = {
      currentHealthy: healthy,
      desiredHealthy: this.shape.replicas - 1,
      expectedPods: this.shape.replicas,
    };
    const disruptionsAllowed = Math.max(0, healthy - counts.desiredHealthy);
    const budget = makeBudget('drydock', {
      key: 'drydock/drydock',
      namespace: 'drydock',
      selector: { matchLabels: labels },
      ...counts,
      disruptionsAllowed,
    });
    const wanted = new Set(
      [...this.requests.values()].filter(({ deleting }) => !deleting).map(one => one.nodeName),
    );
    const lease = { ...ourLease, key: `leases/node-${node.name}` };
    const snapshot = makeSnapshot({
      nodeName: node.name,
      node,
      requests: [request],
      pods: pods.filter(({ nodeName }) => nodeName === node.name),
      budgets: [budget],
      leases: new Map([[lease.key, lease]]),
      memo: emptyMemo,
      self: {
        pod: this.leader ?? '',
        handedOver: this.#handedOver,
        pods,
        nodes: [...this.nodes.values()],
        wanted,
      },
    });
    return decide(snapshot, at(1));
  }

  #carryOut(node: Node, { writes, calls, handOver }: Decision): void {
    if (
      node.holdRecord === undefined &&
      writes.some(({ path, method }) => path === `/api/v1/nodes/${node.name}` && method === 'PATCH')
    )
      this.#setNode(node.name, {
        unschedulable: true,
        taints: heldNode.taints,
        holdRecord: heldNode.holdRecord ?? '',
      });
    for (const { pod } of calls) this.#evict(pod);
    if (handOver) {
      const before = this.leader;
      this.leader = this.running.find(({ key }) => key !== before)?.key ?? before;
      this.#handedOver = this.leader === before;
    }
  }

  #evict({ key }: Pod): void {
    const pod = this.pods.get(key);
    if (pod === undefined || pod.deletionTimestamp !== undefined) return;
    this.pods.set(key, { ...pod, deletionTimestamp: at(30) });
    this.#make();
  }

  #release(name: string): void {
    const { holdRecord: _, ...node } = this.nodes.get(name) ?? makeNode({ name });
    this.nodes.set(name, { ...node, unschedulable: false, taints: [] });
  }
}

const shape: fc.Arbitrary<Shape> = fc
  .record({
    nodes: fc.integer({ min: 1, max: 3 }),
    replicas: fc.integer({ min: 1, max: 2 }),
    picked: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    deletes: fc.boolean(),
  })
  .map(({ nodes, replicas, picked, deletes }) => ({
    nodes,
    replicas,
    deletes,
    // It runs somewhere at the beginning.
    roles: picked.slice(0, nodes).every(Boolean)
      ? undefined
      : picked.slice(0, nodes).some(Boolean)
        ? picked
        : [true, ...picked.slice(1)],
  }));

const deed: fc.Arbitrary<Deed> = fc.record({
  what: fc.oneof(...deeds.map(what => ({ weight: weights[what], arbitrary: fc.constant(what) }))),
  of: fc.nat(5),
});

test('at every end an operator runs or can be scheduled, and every node is given back without help', () => {
  fc.assert(
    fc.property(shape, fc.array(deed, { maxLength: 60, size: 'max' }), (given, story) => {
      const world = new OperatorWorld(given);
      for (const one of story) world.do(one);
      world.rest();
      const where = [...world.nodes.values()]
        .map(({ name, unschedulable }) => `${name}${unschedulable ? ' held' : ''}`)
        .join(', ');
      assert.ok(world.running.length > 0, `no operator runs: ${where}`);
      world.giveBack();
      assert.deepEqual(
        [
          world.requests.size,
          [...world.nodes.values()].filter(({ unschedulable }) => unschedulable),
        ],
        [0, []],
      );
      assert.equal(world.running.length, given.replicas, 'all replicas run again');
    }),
    { numRuns: 1000 },
  );
});
