import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { RecordSlice } from '@drydock/core/plan';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { approvedBy } from './approve.ts';
import { nextRunId } from './control.ts';
import { type CreateFlags, planFor } from './create.ts';
import { historyTable, runsOf, verdictsOfRun } from './history.ts';
import { movedToFront, noTurnOf } from './next.ts';
import { mergedRetries } from './node-choices.ts';
import { type PauseFlags, pausedSpec, untilOf } from './pause.ts';
import { promotionOf } from './promote.ts';
import { endOf } from './status.ts';
import type { PlanObject } from './why-plans.ts';

/** What the commands about plans write, and refuse. */

function at(text: string): Temporal.Instant {
  return Temporal.Instant.from(text);
}

function planOf(status: MaintenancePlanStatus, spec: Partial<PlanObject['spec']> = {}): PlanObject {
  return {
    metadata: { name: 'kernel', uid: 'u', resourceVersion: '7', generation: 2 },
    spec: { nodeSelector: {}, work: { none: {} }, ...spec },
    status: { observedGeneration: 2, ...status },
  };
}

test('a new run has an id that no run had', () => {
  const now = at('2026-05-01T10:00:00.5Z');
  assert.equal(nextRunId('1', [], now), '2');
  assert.equal(
    nextRunId('1', ['1', '7', 'spring'], now),
    '8',
    'somebody has gone back to an earlier id',
  );
  assert.equal(nextRunId('spring', ['1'], now), '2026-05-01T10:00:00Z');
});

test('retries are merged by node, and the one of all nodes replaces what would count before it', () => {
  const [early, now, later] = [
    '2026-05-01T10:00:00Z',
    '2026-05-01T11:00:00Z',
    '2026-05-01T12:00:00Z',
  ];
  const stored = [
    { name: 'a', before: early },
    { name: 'b', before: later },
  ];
  assert.deepEqual(mergedRetries(stored, ['a'], now), [
    { name: 'b', before: later },
    { name: 'a', before: now },
  ]);
  assert.deepEqual(mergedRetries(stored, ['*'], now), [
    { name: 'b', before: later },
    { name: '*', before: now },
  ]);
});

test('the node that comes next is at the front once, and a full list loses its last', () => {
  assert.deepEqual(movedToFront(['a', 'b'], 'b'), ['b', 'a']);
  assert.deepEqual(movedToFront([], 'a'), ['a']);
  const many = Array.from({ length: 100 }, (_, index) => `n${index}`);
  assert.deepEqual(movedToFront(many, 'a'), ['a', ...many.slice(0, 99)]);
  const since = '2026-05-01T10:00:00Z';
  const flying = {
    node: 'a',
    nodeUID: 'a',
    stage: 'rest',
    revision: 'r',
    work: { kind: 'none', rebootsNode: false, timeoutSeconds: 0 },
    state: 'Holding',
    startTime: since,
    stateStartTime: since,
    attempt: 0,
  } as const;
  assert.match(noTurnOf(planOf({ inFlight: [flying] }), 'a') ?? '', /is in flight/);
  assert.match(
    noTurnOf(planOf({}, { skipNodes: [{ name: 'a' }] }), 'a') ?? '',
    /leaves node a out/,
  );
  assert.equal(noTurnOf(planOf({}), 'a'), undefined);
});

test('what the plan waits for is approved, anything else only ahead', () => {
  const stages = [{ name: 'canary', approveAfter: true }, { name: 'rack' }];
  const waiting = [{ reason: 'Approval', message: 'somebody', startTime: '2026-05-01T10:00:00Z' }];
  const run = { id: '1', revision: 'r', startTime: '2026-05-01T10:00:00Z' };
  const afterStage = planOf(
    { phase: 'AwaitingApproval', waiting, run: { ...run, stage: 'canary' } },
    { stages },
  );
  assert.deepEqual(approvedBy(afterStage, undefined, false), { stage: 'canary' });
  assert.deepEqual(approvedBy(afterStage, 'canary', false), { stage: 'canary' });
  assert.throws(
    () => approvedBy(afterStage, 'rack', false),
    /waits for no approval of stage rack: it waits for an approval of what follows stage canary/,
  );
  const asked = planOf(
    { phase: 'AwaitingApproval', waiting, run },
    { stages, approval: { run: 'Required' } },
  );
  assert.deepEqual(approvedBy(asked, undefined, false), {});
  assert.deepEqual(approvedBy(asked, 'canary', true), { stage: 'canary' });
  const running = planOf({ phase: 'Running', run }, { stages });
  assert.throws(
    () => approvedBy(running, undefined, false),
    /waits for no approval: it is Running; --yes/,
  );
  assert.throws(() => approvedBy(running, undefined, true), /asks for no approval of its run/);
  assert.throws(
    () => approvedBy(running, 'rack', true),
    /stage rack of plan kernel asks for no approval; those that do: canary/,
  );
  assert.deepEqual(approvedBy(running, 'canary', true), { stage: 'canary' });
});

test('what keeps the plan between two stages is promoted, or all of it', () => {
  const [since, run] = [
    '2026-05-01T10:00:00Z',
    { id: '1', revision: 'r', startTime: '2026-05-01T10:00:00Z' },
  ];
  const waits = (reason: string, stage?: string): PlanObject =>
    planOf({
      phase: 'Running',
      waiting: [{ reason, message: 'x', startTime: since }],
      run: { ...run, ...(stage !== undefined && { stage }) },
    });
  assert.deepEqual(promotionOf(waits('StageSoak', 'canary'), false), {
    stage: 'canary',
    promote: 'Stage',
  });
  assert.deepEqual(promotionOf(waits('Approval', 'canary'), false), {
    stage: 'canary',
    promote: 'Stage',
  });
  assert.deepEqual(promotionOf(waits('Approval'), false), {}, 'the run');
  assert.deepEqual(promotionOf(waits('MaxInFlight', 'canary'), true), { promote: 'Full' });
  assert.throws(
    () => promotionOf(waits('MaxInFlight', 'canary'), false),
    /waits for no soak time and no approval: it is Running; --full/,
  );
});

test('a plan is paused with a reason, and until a time or for some time; one that is paused as wanted stays as it is', () => {
  const now = Temporal.Instant.from('2026-05-01T10:00:00Z');
  const specFor = (flags: Omit<PauseFlags, keyof ConnectionFlags>, spec: object = {}): unknown =>
    pausedSpec(planOf({}, spec), flags, now);
  assert.deepEqual(specFor({}), { state: 'Paused', pause: null });
  assert.deepEqual(specFor({ reason: 'release' }), {
    state: 'Paused',
    pause: { reason: 'release', until: null },
  });
  const until = { state: 'Paused', pause: { reason: 'release', until: '2026-05-01T11:30:00Z' } };
  assert.deepEqual(specFor({ reason: 'release', until: '1h30m' }), until);
  assert.deepEqual(
    specFor({ reason: 'release', until: '2026-05-01T13:30:00+02:00' }, { state: 'Paused' }),
    until,
    'it has an end from now on',
  );
  for (const spec of [
    { state: 'Paused' },
    { state: 'Paused', pause: { reason: 'release' } },
    { state: 'Paused', pause: { until: '2026-05-01T10:00:01Z' } },
  ])
    assert.equal(specFor({}, spec), undefined, JSON.stringify(spec));
  assert.deepEqual(
    specFor({}, { state: 'Paused', pause: { until: '2026-05-01T10:00:00Z' } }),
    { state: 'Paused', pause: null },
    'that one is over',
  );
  assert.throws(() => specFor({}, { state: 'Aborted' }), /is aborted.*drydock plan rerun/);
  for (const past of ['2026-05-01T10:00:00Z', '0', '-5m'])
    assert.throws(() => untilOf(past, now), /--until: expected a time in the future/);
  assert.throws(
    () => untilOf('2026-05-41', now),
    /invalid value "2026-05-41" for --until: expected a time such as /,
  );
  assert.throws(() => untilOf('tomorrow', now), /invalid value "tomorrow" for --until: expected /);
});

test('a plan that is followed ends when its status is about the spec as it is', () => {
  assert.deepEqual(
    (['Running', 'Paused', 'Complete', 'AwaitingApproval', 'Halted', 'Aborted'] as const).map(
      phase => endOf(planOf({ phase })),
    ),
    [undefined, undefined, 0, 3, 4, 4],
  );
  assert.equal(endOf(planOf({ phase: 'Complete', observedGeneration: 1 })), undefined);
  const nodes = {
    selected: 3,
    due: 0,
    blocked: 0,
    inFlight: 0,
    done: 2,
    failed: 1,
    skipped: 0,
    unavailable: 1,
    progress: '3/3',
  };
  assert.equal(endOf(planOf({ phase: 'Complete', nodes })), 5, 'nodes have failed');
  assert.equal(endOf(planOf({ phase: 'Complete', nodes: { ...nodes, failed: 0 } })), 0);
});

const defaults: CreateFlags = { selector: 'pool=blue', dryRun: 'client' };
function specOf(words: readonly string[], flags: Partial<CreateFlags>): unknown {
  return planFor('p', words, { ...defaults, ...flags })['spec'];
}

test('create makes the work that the flags ask for', () => {
  assert.deepEqual(specOf([], { selector: 'pool in (a,b),!gpu,zone=z' }), {
    nodeSelector: {
      matchLabels: { zone: 'z' },
      matchExpressions: [
        { key: 'pool', operator: 'In', values: ['a', 'b'] },
        { key: 'gpu', operator: 'DoesNotExist' },
      ],
    },
    work: { none: {} },
  });
  assert.deepEqual(
    specOf([], { selector: '', external: 'true', maxInFlight: '10%', maxUnavailable: '0' }),
    {
      nodeSelector: {},
      concurrency: { maxInFlight: '10%', maxUnavailable: 0 },
      work: { external: { finished: { expression: 'true' } } },
    },
  );
  const [container] = (
    specOf(['/bin/up', 'now'], { image: 'i', command: true }) as {
      work: { job: { podSpec: { containers: unknown[] } } };
    }
  ).work.job.podSpec.containers;
  assert.deepEqual(container, {
    name: 'work',
    image: 'i',
    command: ['/bin/up', 'now'],
    securityContext: { privileged: true },
  });
});

test('create names the flag that is wrong, and what it takes', () => {
  const table: readonly (readonly [readonly string[], Partial<CreateFlags>, RegExp])[] = [
    [[], { selector: 'a b' }, /--selector/],
    [[], { image: 'i', external: 'true' }, /--image or --external/],
    [['x'], {}, /add --image/],
    [[], { image: 'i', command: true }, /--command needs the command after --/],
    [[], { maxInFlight: '0%' }, /--max-in-flight: expected a number or a percent/],
    [[], { canary: '0' }, /--canary/],
    [[], { due: 'node.x !=' }, /--due: invalid expression at 1:10: /],
    [[], { external: 'nodes' }, /--external: invalid expression at 1:1: /],
  ];
  for (const [words, flags, message] of table) assert.throws(() => specOf(words, flags), message);
  assert.throws(() => planFor('p', [], { dryRun: 'client' }), UsageError);
});

test('history counts the verdicts of each run, and has the present one before its first verdict', () => {
  const slice = (run: string, verdict: 'Done' | 'Failed', hour: number): RecordSlice => ({
    key: run,
    name: run,
    uid: run,
    resourceVersion: '1',
    planUid: 'u',
    run,
    revision: 'r',
    slice: 0,
    verdicts: [
      {
        node: 'n',
        uid: 'n',
        stage: 'rest',
        verdict,
        state: 'Working',
        message: '',
        attempts: 1,
        rebooted: false,
        held: false,
        requeues: 0,
        startedAt: at(`2026-05-01T0${hour}:00:00Z`),
        completedAt: at(`2026-05-01T0${hour}:30:00Z`),
      },
    ],
  });
  const status = {
    phase: 'Running',
    run: { id: '3', revision: 'r', startTime: '2026-05-02T00:00:00Z' },
  } as const;
  const lines = historyTable(
    runsOf({ status }, [slice('2', 'Failed', 5), slice('1', 'Done', 1)]),
  ).split('\n');
  assert.deepEqual(
    lines.map(line => line.split(/ {2,}/)),
    [
      [
        'RUN',
        'REVISION',
        'PHASE',
        'DONE',
        'FAILED',
        'REQUEUED',
        'SKIPPED',
        'GONE',
        'STARTED',
        'LAST COMPLETED',
      ],
      ['1', 'r', '-', '1', '0', '0', '0', '0', '2026-05-01T01:00:00Z', '2026-05-01T01:30:00Z'],
      ['2', 'r', '-', '0', '1', '0', '0', '0', '2026-05-01T05:00:00Z', '2026-05-01T05:30:00Z'],
      ['3', 'r', 'Running', '0', '0', '0', '0', '0', '2026-05-02T00:00:00Z', '-'],
    ],
  );
  const plan = planOf(status, { retries: [{ name: '*', before: '2026-05-03T00:00:00Z' }] });
  const slices = [slice('2', 'Failed', 5), slice('1', 'Done', 1)];
  const nodesOf = (id: string): readonly (readonly unknown[])[] =>
    verdictsOfRun(plan, slices, id).flatMap(({ nodes }) =>
      nodes.map(({ node, verdict, setAside }) => [node, verdict, setAside]),
    );
  assert.deepEqual([nodesOf('2'), nodesOf('3')], [[['n', 'Failed', false]], []]);
  assert.throws(
    () => verdictsOfRun(plan, slices, '7'),
    /plan kernel has no record of run 7; those it has: 1, 2, 3$/,
  );
});
