import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { Monitoring, QueryResult, Sample } from '@drydock/operator';
import { openMonitoring } from '@drydock/operator/monitoring';
import { type Clock, silentLog, systemClock } from '@drydock/utils';
import { stringify } from 'yaml';
import { create, nodesReady } from '../../control-plane/objects/cluster.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { type OperatorHarness, startHarness } from '../../operator/harness/harness.ts';
import { dueNode, plan, untilPlan, Work } from '../../operator/plans/plan-work.ts';
import { startBeside } from '../beside.ts';
import { otherCluster, skipOf } from '../builds.ts';
import { type RealMonitoring, startMonitoring } from './monitoring.ts';

/** Gates over metrics and alerts, of a real Prometheus and a real Alertmanager. */

async function startBoth() {
  const elsewhere = otherCluster();
  if (elsewhere !== undefined) return elsewhere;
  const harness = await startHarness({ roles: ['plans'] });
  if (harness.kind === 'left-out') return harness;
  return startBeside(harness, ({ controlPlane }) => startMonitoring(controlPlane));
}

const started = await startBoth();
const skip = skipOf(started);
const { ground: harness, neighbour: real } = started as {
  readonly ground: OperatorHarness;
  readonly neighbour: RealMonitoring;
};

const { signal } = new AbortController();
const critical = ['severity="critical"'];

/**
 * The sources of a cluster: Prometheus behind a token, the same program by certificate and
 * password, and an Alertmanager that is believed at once.
 */
function sources(): readonly Readonly<Record<string, unknown>>[] {
  const { guard, closedPrometheus, alertmanager } = real;
  const trust = { ca_file: 'ca.crt' };
  return [
    {
      kind: 'prometheus',
      url: guard.url,
      timeout: '2s',
      authorization: { credentials_file: 'token' },
      tls_config: trust,
    },
    {
      name: 'closed',
      kind: 'prometheus',
      url: closedPrometheus.url,
      basic_auth: { username: 'drydock', password_file: 'password' },
      tls_config: { ...trust, cert_file: 'client.crt', key_file: 'client.key' },
    },
    {
      name: 'nobody',
      kind: 'prometheus',
      url: closedPrometheus.url,
      tls_config: { ...trust, cert_file: 'client.crt', key_file: 'client.key' },
    },
    { name: 'stranger', kind: 'prometheus', url: closedPrometheus.url, tls_config: trust },
    {
      name: 'untrusted',
      kind: 'prometheus',
      url: guard.url,
      authorization: { credentials_file: 'token' },
    },
    { kind: 'alertmanager', url: alertmanager.url, timeout: '2s', startup_grace: '1s' },
    { name: 'careful', kind: 'alertmanager', url: alertmanager.url, startup_grace: '1h' },
  ];
}

async function until<T>(
  what: string,
  ask: () => Promise<QueryResult<T>>,
  isWanted: (told: QueryResult<T>) => boolean,
): Promise<QueryResult<T>> {
  return waitFor(
    what,
    async () => {
      const told = await ask();
      return isWanted(told) ? { done: told } : { yet: JSON.stringify(told) };
    },
    { deadlineMs: 20_000, everyMs: 100 },
  );
}

describe('gates over a real Prometheus and a real Alertmanager', { skip, timeout: 300_000 }, () => {
  let file: string;
  let monitoring: Monitoring;
  const problemOf = (told: QueryResult<unknown>): string =>
    'problem' in told ? told.problem : `an answer: ${JSON.stringify(told.value)}`;
  const query = (text: string, source = 'default'): Promise<QueryResult<readonly Sample[]>> =>
    monitoring.samples(source, text, signal);
  const firing = async (
    matchers = critical,
    source = 'default',
  ): Promise<QueryResult<readonly string[]>> => {
    const told = await monitoring.firing(source, matchers, signal);
    return 'problem' in told ? told : { value: told.value.map(({ name }) => name) };
  };
  const valuesOf = (told: QueryResult<readonly Sample[]>): readonly number[] =>
    'value' in told
      ? told.value.map(({ value }) => value).toSorted((one, other) => one - other)
      : assert.fail(told.problem);
  const setToken = (token: string): void => writeFileSync(join(real.folder, 'token'), `${token}\n`);
  const untilFires = (...names: readonly string[]) =>
    until(
      `${names.join()} to fire`,
      firing,
      told => 'value' in told && told.value.toSorted().join() === names.toSorted().join(),
    );

  before(async () => {
    real.metrics
      .set('test_errors{app="a"}', '0.001')
      .set('test_errors{app="b"}', '0.002')
      .set('test_outage', '0')
      .set('test_untidy', '1');
    setToken(real.guard.token);
    writeFileSync(join(real.folder, 'password'), 'open sesame\n');
    file = join(real.folder, 'sources.yaml');
    writeFileSync(file, stringify({ poll_interval: '1s', sources: sources() }));
    monitoring = openMonitoring(file, { clock: systemClock, log: silentLog });
    await until(
      'what is measured',
      () => query('test_errors'),
      told => 'value' in told && told.value.length === 2,
    );
  });
  after(async () => {
    await real.stop();
    await harness.stop();
  });

  test('a vector, a scalar, nothing at all, what is no number, and what cannot be judged', async () => {
    assert.deepEqual(valuesOf(await query('test_errors')), [0.001, 0.002]);
    const [one] = ((await query('test_errors{app="a"}')) as { readonly value: readonly Sample[] })
      .value;
    assert.deepEqual([one?.labels['__name__'], one?.labels['app']], ['test_errors', 'a']);
    assert.deepEqual(valuesOf(await query('scalar(sum(test_errors))')), [0.003]);
    assert.deepEqual(valuesOf(await query('1e-9')), [1e-9]);
    assert.deepEqual(valuesOf(await query('nothing_measures_this')), []);
    assert.ok(Number.isNaN(valuesOf(await query('test_outage / 0'))[0]));
    assert.deepEqual(valuesOf(await query('test_untidy / 0')), [Number.POSITIVE_INFINITY]);
    assert.deepEqual(valuesOf(await query('-test_untidy / 0')), [Number.NEGATIVE_INFINITY]);
    assert.equal(
      problemOf(await query('test_errors[5m]')),
      'the query is a matrix, and has to be a vector or a scalar',
    );
    assert.equal(
      problemOf(await query('"text"')),
      'the query is a string, and has to be a vector or a scalar',
    );
    assert.match(
      problemOf(await query('sum(test_errors')),
      /^source default refuses the question: .*parse error: unclosed left parenthesis/,
    );
    assert.match(
      problemOf(await query('histogram_quantile(2, test_errors)')),
      /^source default warns that its response may be incomplete: .*quantile value should be between 0 and 1/,
    );
    assert.match(
      problemOf(await query('test_errors * on() group_right test_errors')),
      /^source default refuses the question: found duplicate series/,
    );
  });

  test('more series than anybody reads are refused', async () => {
    for (let index = 0; index < 1500; index += 1) real.metrics.set(`test_many{i="${index}"}`, '1');
    await until(
      'many series',
      () => query('count(test_many)'),
      told => 'value' in told && told.value[0]?.value === 1500,
    );
    assert.match(
      problemOf(await query('test_many')),
      /^the query has more than 1000 series: aggregate them/,
    );
    assert.deepEqual(valuesOf(await query('sum(test_many)')), [1500]);
    for (let index = 0; index < 1500; index += 1) real.metrics.delete(`test_many{i="${index}"}`);
  });

  test('a token is shown, read again when it changes, and told to nobody', async () => {
    real.guard.token = 'second-token';
    const refused = problemOf(await query('test_outage'));
    assert.equal(refused, 'source default refuses the credentials of the operator (401)');
    setToken('second-token');
    assert.deepEqual(valuesOf(await query('test_outage')), [0]);
  });

  test('TLS: an authority of its own, a certificate of ours, and a password', async () => {
    assert.deepEqual(valuesOf(await query('vector(1)', 'closed')), [1]);
    assert.equal(
      problemOf(await query('vector(1)', 'nobody')),
      'source nobody refuses the credentials of the operator (401)',
    );
    assert.match(
      problemOf(await query('vector(1)', 'stranger')),
      /^source stranger does not respond: [A-Z0-9_]*CERTIFICATE_REQUIRED$/,
    );
    assert.match(
      problemOf(await query('vector(1)', 'untrusted')),
      /^source untrusted does not respond: (UNABLE_TO|SELF_SIGNED)[A-Z_]*$/,
    );
  });

  test('alerts that fire, that nobody asks for, are silenced, inhibited, and over', async () => {
    await untilFires();
    await until(
      'Untidy to fire',
      () => firing(['alertname=~".+"']),
      told => 'value' in told && told.value.join() === 'Untidy',
    );
    real.metrics.set('test_errors{app="b"}', '0.5');
    await untilFires('ManyErrors');
    const end = await real.silence('ManyErrors');
    await untilFires();
    await end();
    await untilFires('ManyErrors');
    real.metrics.set('test_outage', '1');
    await untilFires('Outage');
    real.metrics.set('test_outage', '0').set('test_errors{app="b"}', '0');
    await untilFires();
    assert.match(
      problemOf(await firing(['severity=~"("'])),
      /^source default refuses the question: .*missing closing \)/,
    );
    assert.match(problemOf(await firing(['no matcher'])), /^source default refuses the question: /);
  });

  test('an Alertmanager that has just begun is not believed that nothing fires', async () => {
    assert.match(
      problemOf(await firing(critical, 'careful')),
      /^source careful has begun less than 3600 s ago, and may not know all alerts yet$/,
    );
    await real.alertmanager.stop();
    assert.equal(problemOf(await firing()), 'source default does not respond: ECONNREFUSED');
    await real.alertmanager.start();
    const first = await firing();
    assert.match(problemOf(first), /^source default has begun less than 1 s ago/);
    await untilFires();
  });

  test('silences of held nodes are made, last longer under their id, are taken over and ended; a name is no expression', async () => {
    const own = join(real.folder, 'silences.yaml');
    const matchers = `['node=~"{{node}}(:.*)?"']`;
    writeFileSync(
      own,
      `sources: [{kind: alertmanager, url: "${real.alertmanager.url}", silences: {cluster: berlin, lease: 1m, matchers: ${matchers}}}]`,
    );
    const later = (seconds: number): Clock => ({
      ...systemClock,
      now: () => Temporal.Now.instant().add({ seconds }),
    });
    const begin = (clock: Clock = systemClock) => openMonitoring(own, { clock, log: silentLog });
    type Silence = {
      readonly id: string;
      readonly comment: string;
      readonly endsAt: string;
      readonly status: { readonly state: string };
    };
    const inForce = async (): Promise<readonly Silence[]> => {
      const all = (await (
        await fetch(`${real.alertmanager.url}/api/v2/silences`)
      ).json()) as readonly Silence[];
      return all.filter(
        ({ comment, status }) => comment.includes('Drydock') && status.state === 'active',
      );
    };
    await begin().silence(new Set(['a.b', 'n2']), signal);
    const first = await inForce();
    assert.equal(first.length, 2);
    await begin(later(40)).silence(new Set(['a.b']), signal);
    const [kept, ...others] = await inForce();
    assert.deepEqual([others, first.some(({ id }) => id === kept?.id)], [[], true]);
    assert.ok(
      Date.parse(kept?.endsAt ?? '') > Date.parse(first[0]?.endsAt ?? '') + 30_000,
      'it lasts longer',
    );
    const silenced = async (node: string): Promise<number> => {
      const labels = { alertname: 'Probe', node };
      await fetch(`${real.alertmanager.url}/api/v2/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([{ labels }]),
      });
      const query = new URLSearchParams({
        filter: `node="${node}"`,
        active: 'false',
        silenced: 'true',
      });
      return (
        (await (
          await fetch(`${real.alertmanager.url}/api/v2/alerts?${query.toString()}`)
        ).json()) as readonly unknown[]
      ).length;
    };
    assert.deepEqual([await silenced('a.b:9100'), await silenced('axb:9100')], [1, 0]);
    await begin().silence(new Set(), signal);
    assert.deepEqual(await inForce(), []);
  });

  describe('of plans', () => {
    let work: Work;
    let metrics: string;
    before(async () => {
      ({ metrics } = await harness.startOperator({ flags: [`--monitoring-config=${file}`] }));
      work = new Work(harness.api, () => ({ kernel: '6.12.9' }));
    });
    after(() => work.stop());

    const fleet = async (group: string, many: number): Promise<void> => {
      const names = Array.from({ length: many }, (_, index) => `${group}-${index + 1}`);
      for (const name of names) await create(harness.api, dueNode(name, { labels: { group } }));
      await nodesReady(harness.api, names);
    };
    const told = ({ waiting }: MaintenancePlanStatus): string =>
      `${waiting?.[0]?.reason}: ${waiting?.[0]?.message}`;
    const untilTold = (name: string, what: RegExp): Promise<MaintenancePlanStatus> =>
      untilPlan(harness.api, name, `told ${what.source}`, status => what.test(told(status)));
    const untilPhase = (name: string, wanted: string): Promise<MaintenancePlanStatus> =>
      untilPlan(harness.api, name, wanted, ({ phase }) => phase === wanted);

    test('wait while one is false or cannot be told, go on when both are true, and ask nobody before and after', async () => {
      assert.equal(real.guard.requests > 0, true);
      const before = real.guard.requests;
      await fleet('metrics', 2);
      assert.equal(real.guard.requests, before, 'nothing is asked without a plan');
      const errors = {
        name: 'errors',
        promql: { query: 'test_errors', expression: 'value < 0.01', minSamples: 2 },
        forSeconds: 1,
      };
      const page = { name: 'page', alerts: { matchers: critical } };
      real.metrics.set('test_errors{app="b"}', '0.25');
      await untilFires('ManyErrors');
      await create(
        harness.api,
        plan('metrics', 'metrics', { gates: [errors, page], soakSeconds: 5 }),
      );
      await untilTold('metrics', /^Gate: gate errors: test_errors\{.*app="b".*\} is 0\.25$/);
      real.metrics.delete('test_errors{app="b"}');
      await untilTold(
        'metrics',
        /^GateUnknown: gate errors is unknown: its query has 1 samples, and at least 2 are needed$/,
      );
      real.metrics.set('test_errors{app="b"}', 'NaN');
      await untilTold(
        'metrics',
        /^GateUnknown: gate errors is unknown: no number: test_errors\{.*\} is NaN$/,
      );
      const end = await real.silence('Outage');
      real.metrics.set('test_errors{app="b"}', '0').set('test_outage', '1');
      await untilPlan(
        harness.api,
        'metrics',
        'begun with',
        ({ inFlight = [] }) => inFlight.length > 0,
      );
      await untilTold('metrics', /^Soaking/);
      await end();
      await untilTold('metrics', /^SoakBroken: .*gate page: firing: Outage/);
      real.metrics.set('test_outage', '0');
      await untilTold('metrics', /^Soaking/);
      await real.prometheus.stop();
      await untilTold(
        'metrics',
        /^SoakBroken: .*gate errors is unknown: source default responds with 502/,
      );
      await real.prometheus.start();
      const done = await untilPhase('metrics', 'Complete');
      assert.deepEqual([done.nodes?.done, done.nodes?.failed], [2, 0]);
      const last = real.guard.requests;
      await new Promise(resolve => setTimeout(resolve, 3000));
      assert.ok(
        real.guard.requests - last <= 1,
        `${real.guard.requests - last} requests in 3 s of a plan that is complete`,
      );
    });

    test('halt, name what they do not know, and share one question', async () => {
      await fleet('halting', 3);
      const gate = { promql: { query: 'max(test_errors)', expression: 'value < 0.01' } };
      const gates = [
        { name: 'errors', ...gate, onFalse: 'Halt' as const },
        { name: 'twin', ...gate },
      ];
      await create(harness.api, plan('halting', 'halting', { gates }));
      const before = real.guard.requests;
      const since = performance.now();
      await untilPlan(
        harness.api,
        'halting',
        'at work',
        ({ inFlight = [] }) => inFlight.length > 0,
      );
      real.metrics.set('test_errors{app="a"}', '0.9');
      const halted = await untilPhase('halting', 'Halted');
      assert.deepEqual(
        [halted.haltedBy?.gate, halted.haltedBy?.message],
        ['errors', 'the query is 0.9'],
      );
      const seconds = (performance.now() - since) / 1000;
      assert.ok(
        real.guard.requests - before <= seconds + 2,
        `${real.guard.requests - before} requests in ${seconds} s`,
      );
      real.metrics.set('test_errors{app="a"}', '0');
      await untilPlan(
        harness.api,
        'halting',
        'open again',
        ({ gates: [first] = [] }) => first?.value === 'True',
      );
      await harness.drydock('plan', 'retry', 'halting', '--failed');
      await untilPhase('halting', 'Complete');
      await fleet('lost', 1);
      await create(
        harness.api,
        plan('lost', 'lost', {
          gates: [{ name: 'lost', promql: { source: 'thanos', query: '1', expression: 'true' } }],
        }),
      );
      await untilTold(
        'lost',
        /^GateUnknown: gate lost is unknown: the operator knows no source thanos of kind prometheus; it knows closed, default/,
      );
    });

    test('are counted by how they ended', async () => {
      const text = await (await fetch(metrics)).text();
      for (const result of ['answered', 'failed'])
        assert.match(
          text,
          new RegExp(
            `^drydock_gate_queries_total\\{kind="promql",result="${result}"\\} [1-9]`,
            'm',
          ),
        );
      assert.match(text, /^drydock_gate_queries_total\{kind="alerts",result="answered"\} [1-9]/m);
    });
  });
});
