import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertGate, Gate, Plan, PromqlGate } from '@drydock/core/plan';
import { makeInFlight, makePlan } from '@drydock/core/testing';
import { VirtualClock } from '@drydock/utils';
import type { Monitoring, QueryResult, Sample } from '../ports.ts';
import { settle } from '../testing/fakes.ts';
import { GateQueries } from './gate-queries.ts';

/** How often who is asked what. */

const common = { at: ['BeforeNode'], onFalse: 'Wait', forSeconds: 0 } as const;
function promql(query: string, source = 'default'): PromqlGate {
  return {
    ...common,
    name: query,
    kind: 'promql',
    source,
    query,
    expression: 'true',
    minSamples: 1,
  };
}
const alerts: AlertGate = {
  ...common,
  name: 'page',
  kind: 'alerts',
  source: 'default',
  matchers: ['a="b"'],
  excludesHeldNodes: false,
};

function running(gates: readonly Gate[], over: Partial<Plan> = {}): Plan {
  return makePlan({ gates, status: { phase: 'Running' }, ...over });
}

function sample(value: number): QueryResult<readonly Sample[]> {
  return { value: [{ labels: {}, value }] };
}

function bench(answer: (query: string) => QueryResult<readonly Sample[]> | Promise<never>) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const told = { count: 0 };
  const monitoring: Monitoring = {
    everyMs: 15_000,
    samples: async (source, query) => {
      asked.push(`${source}: ${query}`);
      return answer(query);
    },
    firing: async (source, matchers) => {
      asked.push(`${source}: ${matchers.join()}`);
      return { value: [{ name: 'Slow', about: [] }] };
    },
  };
  const queries = new GateQueries({ monitoring, clock, changed: () => (told.count += 1) });
  const stop = new AbortController();
  queries.begin(stop.signal);
  return { queries, clock, asked, told, stop };
}

test('the same question of several plans is asked once, every quarter of a minute, and tells when its answer is another one', async () => {
  let value = 1;
  const { queries, clock, asked, told, stop } = bench(() => sample(value));
  const gate = promql('up');
  const follow = (): void =>
    queries.follow([
      running([gate, alerts]),
      running([{ ...gate, name: 'other', expression: 'false' }]),
    ]);
  follow();
  assert.deepEqual(queries.samplesOf(gate), { problem: 'its first query has not returned yet' });
  assert.equal(queries.isPending(running([gate])), true);
  assert.equal(queries.isPending(running([promql('not asked')])), false);
  await settle();
  assert.equal(queries.isPending(running([gate, alerts])), false);
  assert.deepEqual(asked, ['default: up', 'default: a="b"']);
  const first = queries.samplesOf(gate);
  assert.deepEqual(
    [first, queries.firingOf(alerts), told.count],
    [sample(1), { value: [{ name: 'Slow', about: [] }] }, 2],
  );
  follow();
  await clock.advance(14_999);
  assert.equal(asked.length, 2);
  await clock.advance(1);
  assert.deepEqual([asked.length, told.count], [4, 2], 'the answers are the same');
  assert.equal(queries.samplesOf(gate), first);
  value = Number.NaN;
  await clock.advance(15_000);
  assert.deepEqual([told.count, queries.samplesOf(gate)], [3, sample(Number.NaN)]);
  value = Number.POSITIVE_INFINITY;
  await clock.advance(15_000);
  assert.deepEqual([told.count, queries.samplesOf(gate)], [4, sample(Number.POSITIVE_INFINITY)]);
  stop.abort();
  await queries.ended();
  await clock.advance(60_000);
  assert.equal(asked.length, 8);
});

test('sources and questions are told apart', async () => {
  const { queries, asked, stop } = bench(() => sample(1));
  const others: readonly Gate[] = [
    { ...common, name: 'loads', kind: 'workloads', namespaces: [] },
    {
      ...common,
      name: 'ceph',
      kind: 'object',
      apiVersion: 'v1',
      resource: 'configmaps',
      object: 'x',
      expression: 'true',
    },
  ];
  queries.follow([
    running([
      ...others,
      promql('a'),
      promql('b'),
      promql('a', 'other'),
      { ...alerts, matchers: ['a'] },
    ]),
  ]);
  await settle();
  assert.deepEqual(asked, ['default: a', 'default: b', 'other: a', 'default: a']);
  stop.abort();
});

test('who does not answer is asked ever more seldom, and says nothing meanwhile', async () => {
  let answer: QueryResult<readonly Sample[]> = sample(1);
  const { queries, clock, asked, stop } = bench(() => answer);
  const gate = promql('up');
  queries.follow([running([gate])]);
  await settle();
  answer = { problem: 'nobody is there' };
  const times: number[] = [];
  for (let second = 1; second <= 600; second += 1) {
    const before = asked.length;
    await clock.advance(1000);
    if (asked.length > before) times.push(second);
  }
  assert.deepEqual(times, [15, 45, 105, 225, 345, 465, 585]);
  assert.deepEqual(
    queries.samplesOf(gate),
    { problem: 'nobody is there' },
    'what was known before is too old to go by',
  );
  answer = sample(2);
  await clock.advance(120_000);
  assert.deepEqual(queries.samplesOf(gate), sample(2));
  const before = asked.length;
  await clock.advance(15_000);
  assert.equal(asked.length, before + 1);
  stop.abort();
});

test('nothing is asked but for plans that are under way', async () => {
  const { queries, clock, asked, stop } = bench(() => sample(1));
  const gate = promql('up');
  const of = async (over: Partial<Plan>): Promise<boolean> => {
    queries.follow([]);
    const before = asked.length;
    queries.follow([running([gate], over)]);
    await settle();
    return asked.length > before;
  };
  for (const phase of ['Running', 'Halted'])
    assert.equal(await of({ status: { phase } }), true, phase);
  for (const phase of ['Pending', 'Paused', 'AwaitingApproval', 'Complete', 'Aborted'])
    assert.equal(await of({ status: { phase } }), false, phase);
  assert.equal(await of({ status: {} }), false);
  assert.equal(await of({ deleting: true }), false);
  assert.equal(
    await of({ status: { phase: 'Paused' }, inFlight: [makeInFlight('n1', { state: 'Soaking' })] }),
    true,
  );
  queries.follow([]);
  assert.deepEqual(queries.samplesOf(gate), { problem: 'it is queried only while the plan runs' });
  const before = asked.length;
  await clock.advance(600_000);
  assert.equal(asked.length, before);
  stop.abort();
  queries.follow([running([gate])]);
  await settle();
  assert.equal(asked.length, before, 'it is over');
});

test("an answer that comes when nobody asks any more is nobody's, and a throw is a problem", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const { queries, told, stop } = bench(query =>
    query === 'late' ? promise : Promise.reject(new Error('odd')),
  );
  queries.follow([running([promql('late'), promql('odd')])]);
  await settle();
  assert.deepEqual(queries.samplesOf(promql('odd')), { problem: 'a defect: odd' });
  stop.abort();
  reject(new Error('aborted'));
  await queries.ended();
  assert.deepEqual(
    [queries.samplesOf(promql('late')), told.count],
    [{ problem: 'its first query has not returned yet' }, 1],
  );
});

test('an operator that has been given no source says so', () => {
  const queries = new GateQueries({ clock: new VirtualClock(), changed: () => {} });
  queries.begin(new AbortController().signal);
  queries.follow([running([promql('up')])]);
  assert.match(
    JSON.stringify(queries.samplesOf(promql('up'))),
    /knows no source of metrics and alerts: it was started without --monitoring-config/,
  );
});
