import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begun, decided, nodesOf, words } from '../testing/decided.ts';
import { at } from '../testing/make.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
} from '../testing/make-plan.ts';
import { begunWork, type Plan } from './plan.ts';
import type { RecordSlice } from './snapshot.ts';
import { childNameOf, createChildWrite, recordWrite } from './writes.ts';

/** What whoever writes plans, or is unlucky with names and times, must not be able to do. */

function concurrency(more: Partial<Plan['concurrency']>): Plan['concurrency'] {
  return {
    maxInFlight: 9,
    perTopology: [],
    foreignCordon: 'Wait',
    ...more,
  };
}

test('two plans whose names begin alike have Maintenances of their own for a node, and none is as long as a name may be', () => {
  const [west, east] = ['kernel-update-production-eu-west', 'kernel-update-production-eu-east'].map(
    name => childNameOf({ name }, 'uid-n1'),
  );
  assert.notEqual(west, east);
  assert.notEqual(childNameOf({ name: 'a.b' }, 'uid-n1'), childNameOf({ name: 'a-b' }, 'uid-n1'));
  assert.ok((west?.length ?? 99) <= 63);
});

test('annotations for whoever else does the work do not say whose a Maintenance is', () => {
  const annotations = {
    'drydock.dev/maintenance-plan': 'another',
    'drydock.dev/machine-maintenance': 'x',
    'sub.drydock.dev/x': 'y',
    'bmc.example.com/job': '7',
    'notdrydock.dev/x': 'z',
  };
  const plan = makePlan({ work: { kind: 'external', annotations, timeoutSeconds: 60 } });
  const { body } = createChildWrite(makePlanSnapshot({ plan }), makeInFlight('n1'));
  assert.deepEqual((body as { metadata: { annotations: unknown } }).metadata.annotations, {
    'bmc.example.com/job': '7',
    'notdrydock.dev/x': 'z',
    'drydock.dev/maintenance-plan': 'kernel',
  });
});

describe('a retry', () => {
  const failed = {
    verdicts: [makeVerdict('n1', { verdict: 'Failed', completedAt: at(-10) })],
    nodes: nodesOf(1),
  };

  test('of the future counts when its time has come, and somebody looks then', () => {
    const later = decided(failed, { retries: new Map([['*', at(500)]]) });
    assert.deepEqual([later.inFlight.length, later.requeueAt?.toString()], [0, at(500).toString()]);
    assert.deepEqual(begun(failed, { retries: new Map([['*', at(0)]]) }), ['n1']);
  });

  test('of the future keeps no failure from halting the plan', () => {
    const verdicts = ['n1', 'n2'].map(name => makeVerdict(name, { verdict: 'Failed' }));
    assert.equal(
      decided({ verdicts }, { halt: { consecutive: 2 }, retries: new Map([['*', at(9e8)]]) }).phase,
      'Halted',
    );
  });
});

describe('limits, where machines are replaced', () => {
  const work = { kind: 'replace', strategy: 'Replace', timeoutSeconds: 600 } as const;
  const zone = 'topology.kubernetes.io/zone';
  const machine = {
    apiVersion: 'machine.openshift.io/v1beta1',
    namespace: 'machines',
    name: 'm',
    instance: 'i',
  };
  const inZone = (name: string, label: string) =>
    makePlanNode(makeReadyNode(name, { labels: { [zone]: label } }), { machine });
  const flying = makeInFlight('n1', {
    state: 'Working',
    work: begunWork(work),
    domains: { [zone]: 'a' },
  });
  const outages = new Map([['n1', [{ reason: 'Plan', by: 'plan kernel' } as const]]]);

  test('count a node that is gone where it was', () => {
    const replacing = { work, inFlight: [flying] };
    const nodes = [inZone('n2', 'a'), inZone('n3', 'b')];
    const perZone = concurrency({ perTopology: [{ key: zone, maxUnavailable: 1 }] });
    assert.deepEqual(begun({ nodes, outages }, { ...replacing, concurrency: perZone }), ['n3']);
    const oneZone = concurrency({ perTopology: [{ key: zone, maxDomains: 1 }] });
    assert.deepEqual(begun({ nodes, outages }, { ...replacing, concurrency: oneZone }), ['n2']);
    const first = decided({ nodes: [inZone('n1', 'a')] }, { work, concurrency: perZone });
    assert.deepEqual(
      first.inFlight[0]?.domains,
      { [zone]: 'a' },
      'its place is stored with its slot',
    );
  });

  test('count successors that do not come up, although they have no part in the run', () => {
    const successor = makePlanNode(makeReadyNode('s1', { conditions: [] }), {
      createdAt: at(-1),
      machine,
    });
    const broken = new Map([['s1', [{ reason: 'NotReady', by: 'Node s1 is not Ready' } as const]]]);
    const plan = {
      work,
      membership: 'Snapshot',
      concurrency: concurrency({ maxUnavailable: 1 }),
      run: { id: '1', revision: 'r1', startedAt: at(-60) },
    } as const;
    const nodes = [...nodesOf(3, { machine, createdAt: at(-5000) }), successor];
    assert.equal(words(decided({ nodes, outages: broken }, plan)), 'Running MaxUnavailable');
    assert.deepEqual(begun({ nodes }, plan), ['n1']);
  });

  test('that are shares are of the nodes that are there: a replaced one does not count beside its successor, whatever the clocks say', () => {
    const concurrencyOf = concurrency({ maxUnavailable: '34%', maxInFlight: '34%' });
    const plan = {
      work,
      membership: 'Snapshot',
      concurrency: concurrencyOf,
      run: { id: '1', revision: 'r1', startedAt: at(-60) },
    } as const;
    const seemsOld = makePlanNode(makeReadyNode('s1'), { createdAt: at(-90), machine });
    const nodes = [...nodesOf(7, { machine, createdAt: at(-5000) }), seemsOld];
    const { counts } = decided({ nodes, verdicts: [makeVerdict('gone')] }, plan);
    assert.deepEqual([counts.selected, counts.maxUnavailable, counts.maxInFlight], [9, 2, 2]);
  });

  test('of failures are shares of all nodes of the run, the replaced ones too', () => {
    const done = Array.from({ length: 70 }, (_, index) => makeVerdict(`d${index}`));
    const failures = ['n1', 'n2'].map(name => makeVerdict(name, { verdict: 'Failed' }));
    const plan = { work, halt: { maxFailures: '3%' } } as const;
    const nodes = nodesOf(30, { machine });
    assert.notEqual(
      decided({ nodes, verdicts: [...done, ...failures] }, plan).phase,
      'Halted',
      '3 of 100',
    );
  });
});

test('as many nodes are in flight as the status holds, with the hooks of each', () => {
  assert.equal(
    decided({ nodes: nodesOf(1) }, { concurrency: concurrency({ maxInFlight: 5000 }) }).counts
      .maxInFlight,
    500,
  );
  const hook = { podSpec: { containers: [] }, timeoutSeconds: 60, onFailure: 'Pause' } as const;
  const hooks = Array.from(
    { length: 8 },
    (_, index) =>
      ({ ...hook, name: `h${index}`, at: index % 2 === 0 ? 'BeforeNode' : 'AfterNode' }) as const,
  );
  assert.equal(
    decided({ nodes: nodesOf(1) }, { hooks, concurrency: concurrency({ maxInFlight: 5000 }) })
      .counts.maxInFlight,
    37,
  );
});

describe('the record', () => {
  const slice = (verdicts: RecordSlice['verdicts'], number = 0): RecordSlice => ({
    key: `s${number}`,
    name: `s${number}`,
    uid: `s${number}`,
    resourceVersion: '1',
    planUid: 'uid-kernel',
    run: '1',
    revision: 'r1',
    slice: number,
    verdicts,
  });
  const written = (slices: readonly RecordSlice[], verdict = makeVerdict('n1')) =>
    recordWrite({ ...makePlanSnapshot({ plan: makePlan() }), slices }, verdict, 'r1');

  test('keeps the verdict on a node when another one comes back under its name', () => {
    const before = makeVerdict('n1', { uid: 'uid-of-before', verdict: 'Failed' });
    assert.equal(written([slice([before])]).method, 'POST', 'a slice of its own');
    assert.match(written([slice([before]), slice([makeVerdict('n1')], 1)]).path, /\/s1$/);
  });

  test('keeps no times of an earlier verdict', () => {
    const { body } = written(
      [slice([makeVerdict('n1', { workSeconds: 7, rebootSeconds: 9 })])],
      makeVerdict('n1', { workSeconds: 3 }),
    );
    const { n1 } = (body as { spec: { verdicts: { n1: object } } }).spec.verdicts;
    assert.deepEqual(
      { workSeconds: 3, rebootSeconds: null },
      Object.fromEntries(Object.entries(n1).filter(([key]) => key.endsWith('Seconds'))),
    );
  });
});
