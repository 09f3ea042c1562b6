import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { errorText } from '@drydock/utils';
import type { Audited } from '../control-plane/audit.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import {
  budgetAllows,
  create,
  getNode,
  nodesReady,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { budget, deployment, namespace, node } from '../control-plane/objects/manifests.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { Guard } from './guard.ts';
import { Keeper } from './keeper.ts';
import { type Kind, kinds, type Lived, live, type Phase } from './life.ts';
import { type Blow, isDryRun } from './proxy.ts';

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it needs the audit log of a control plane of its own');
const controlPlane = started as ControlPlane;
const shop = 'drydock-kill';
const nodes = ['drydock-kill-1', 'drydock-kill-2'] as const;
const replicas = 2;
const phases: readonly Phase[] = ['hold', 'release'];

/**
 * The writes without which no maintenance comes to its end, by the phase of it. How many reports of
 * progress there are is left open.
 */
function essential({ path }: Kind): Readonly<Record<Phase, readonly string[]>> {
  const own = `PATCH ${path.slice(path.lastIndexOf('/') + 1)}`;
  const conditions = ['PATCH nodes/status 1', 'PATCH nodes/status 2'];
  const evictions = ['POST pods/eviction 1', 'POST pods/eviction 2'];
  return {
    hold: [
      `${own} 1`,
      `${own}/status 1`,
      `${own}/status 2`,
      'PATCH nodes 1',
      ...conditions,
      'POST leases 1',
      ...evictions,
    ],
    release: ['DELETE leases 1', `${own} 1`, 'PATCH nodes 1', 'PATCH nodes/status 1'],
  };
}

/** The writes of one phase that have been seen, each to be struck once. */
class Targets {
  readonly struck = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #tried = new Set<string>();

  see(writes: readonly string[], struck: string | undefined): void {
    for (const write of writes) this.#seen.add(write);
    if (struck !== undefined) this.struck.add(struck);
  }

  next(): string | undefined {
    const [next] = [...this.#seen].filter(write => !this.#tried.has(write));
    if (next !== undefined) this.#tried.add(next);
    return next;
  }
}

function isDone({ code, path }: Audited): boolean {
  return code >= 200 && code < 300 && !isDryRun(path);
}

/**
 * What the API server was asked in the course of one life, whatever the operator thinks that it
 * did.
 */
function assertOrder(asked: readonly Audited[], { from, until }: Lived): void {
  const events = asked.filter(({ receivedAt }) => receivedAt >= from && receivedAt <= until);
  const onNode = events.filter(
    ({ resource, subresource, verb }) =>
      resource === 'nodes' && subresource === '' && verb === 'patch',
  );
  const [held, given, ...more] = onNode.filter(isDone);
  assert.ok(held !== undefined && given !== undefined, 'the node was held and released');
  assert.deepEqual(more, [], 'once each');
  const leases = events.filter(
    event => event.resource === 'leases' && event.verb !== 'get' && isDone(event),
  );
  const [acquired, released] = ['create', 'delete'].map(wanted =>
    leases.filter(({ verb }) => verb === wanted),
  );
  assert.ok(
    acquired?.length === 1 && acquired.every(({ answeredAt }) => answeredAt <= held.receivedAt),
    'the lease is had before the hold',
  );
  assert.ok(
    released?.length === 1 && released.every(({ receivedAt }) => receivedAt >= given.answeredAt),
    'and kept until it is over',
  );
  const evictions = events.filter(({ subresource }) => subresource === 'eviction');
  assert.deepEqual(
    evictions.filter(event => event.receivedAt < held.answeredAt),
    [],
    'nothing is evicted before the hold',
  );
  assert.deepEqual(
    evictions.filter(event => event.answeredAt > given.receivedAt),
    [],
    'nor after the node is released',
  );
  const evicted = evictions.filter(isDone).map(({ name }) => name);
  assert.equal(evicted.length, replicas, 'one accepted eviction a pod');
  assert.equal(new Set(evicted).size, replicas);
}

describe('an operator that is killed at every write of a maintenance and started again', {
  skip,
  timeout: 300_000,
}, () => {
  const { api } = controlPlane;
  let keeper: Keeper;
  /** All pods move from the one node to the other and back. */
  let turn = 0;
  let broken = false;

  before(async () => {
    await installShipped(controlPlane);
    await create(api, namespace(shop), node(nodes[0]));
    await nodesReady(api, [nodes[0]]);
    const annotations = { 'drydock.test/ready-after': '50ms', 'drydock.test/gone-after': '50ms' };
    await create(
      api,
      deployment('web', {
        namespace: shop,
        replicas,
        annotations,
        spec: { terminationGracePeriodSeconds: 1 },
      }),
      budget('web', { namespace: shop, maxUnavailable: 1 }),
    );
    await podsReady(api, shop, replicas);
    await budgetAllows(api, shop, 'web', 1);
    await create(api, node(nodes[1]));
    await nodesReady(api, nodes);
    // Set by the controller manager at its leisure: it is to be there before the first likeness is
    // taken.
    const hasTtl = async (name: string): Promise<boolean> =>
      (await getNode(api, name)).metadata.annotations?.['node.alpha.kubernetes.io/ttl'] !==
      undefined;
    await until('the controller manager to have seen the nodes', async () =>
      (await Promise.all(nodes.map(hasTtl))).every(Boolean),
    );
    keeper = await Keeper.start(controlPlane);
    await keeper.settled();
  });
  after(async () => {
    await keeper?.[Symbol.asyncDispose]();
    await controlPlane.stop();
  });

  const oneRuntime = async (
    kind: Kind,
    touched: boolean,
    hold: Blow | undefined,
    release: Blow | undefined,
  ): Promise<Lived> => {
    assert.ok(!broken, 'an earlier life has left its node in disorder');
    const from = nodes[turn % 2] ?? nodes[0];
    turn += 1;
    try {
      return await live(api, keeper, {
        kind,
        namespace: shop,
        from,
        pods: replicas,
        touched,
        blows: { hold, release },
      });
    } catch (error) {
      broken = true;
      const where = JSON.stringify({
        from,
        touched,
        hold,
        release,
        struck: keeper.struck,
        writes: keeper.writes,
      });
      throw new Error(`${kind.kind} ${where}\n${errorText(error)}\n${keeper.log()}`, {
        cause: error,
      });
    }
  };

  for (const kind of kinds) {
    for (const moment of ['before', 'after'] as const) {
      const when =
        moment === 'before'
          ? 'just before the API server sees it'
          : 'just before its answer arrives';
      test(`${kind.kind}: killed at each of its writes, ${when}, the end is always the same`, async () => {
        const mark = controlPlane.audit.mark();
        await using guard = await Guard.start(api, shop);
        const targets = { hold: new Targets(), release: new Targets() };
        const lives: Lived[] = [];
        const next = async (
          hold: string | undefined,
          release: string | undefined,
        ): Promise<void> => {
          const touched = (lives.length % 2 === 0) === (moment === 'before');
          const lived = await oneRuntime(
            kind,
            touched,
            hold ? { at: hold, moment } : undefined,
            release ? { at: release, moment } : undefined,
          );
          for (const phase of phases) targets[phase].see(lived.writes[phase], lived.struck[phase]);
          lives.push(lived);
        };
        await next(undefined, undefined);
        assert.deepEqual(
          lives[0]?.struck,
          { hold: undefined, release: undefined },
          'the first life is undisturbed: its writes are the targets',
        );
        for (;;) {
          const [hold, release] = phases.map(phase => targets[phase].next());
          if (hold === undefined && release === undefined) break;
          await next(hold, release);
        }
        for (const phase of phases) {
          const missed = essential(kind)[phase].filter(write => !targets[phase].struck.has(write));
          assert.deepEqual(missed, [], `${phase}: each of them has been struck`);
        }
        assert.equal(
          await guard.fewest(),
          replicas - 1,
          'the budget of the pods was never exceeded',
        );
        const asked = await controlPlane.audit.since(mark, 'drydock');
        for (const lived of lives) assertOrder(asked, lived);
      });
    }
  }
});
