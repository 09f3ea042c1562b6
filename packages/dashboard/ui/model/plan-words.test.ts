import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlan } from '../testing/make-plan.ts';
import {
  approvalText,
  countsText,
  failureText,
  messageOf,
  nodeStateText,
  planBadge,
  progressOf,
  stageText,
  switchOf,
  waitText,
} from './words.ts';

const now = Date.parse('2026-05-01T10:10:00Z');

const counts = { due: 1200, blocked: 0, inFlight: 2, done: 1, failed: 0, skipped: 0 };

test('nodes by state: what there is nothing of is not said', () => {
  assert.equal(countsText(makePlan({ counts })), '1,200 due, 2 in flight, 1 done');
  assert.equal(
    countsText(makePlan({ counts: { ...counts, due: 0, inFlight: 0, done: 0 } })),
    'no node is due',
  );
  assert.equal(countsText(makePlan()), 'not reconciled by an operator yet');
});

test('progress counts the nodes of all stages', () => {
  const stages = [
    { name: 'canary', phase: 'Complete', selected: 1, done: 1 },
    { name: 'rest', phase: 'Running', selected: 5, done: 0 },
  ];
  assert.deepEqual(progressOf(makePlan({ counts, stages })), { done: 1, all: 6 });
  assert.deepEqual(progressOf(makePlan()), { done: 0, all: 0 });
  assert.deepEqual(stages.map(stageText), ['complete, 1 of 1', 'running, 0 of 5']);
  assert.equal(
    stageText({ name: 'x', phase: 'constructor', selected: 1, done: 0 }),
    'constructor, 0 of 1',
  );
});

test('how far a node is, and what is waited for', () => {
  const one = {
    node: 'w1',
    stage: 'canary',
    state: 'Rebooting',
    since: '2026-05-01T10:08:00Z',
  } as const;
  assert.equal(nodeStateText(one, now), 'rebooting, for 2 min');
  assert.equal(nodeStateText({ ...one, since: '' }, now), 'rebooting');
  const wait = { reason: 'Window', message: 'nights allow it later' };
  assert.equal(waitText(wait, now), 'nights allow it later');
  assert.equal(
    waitText({ ...wait, until: '2026-05-01T10:30:00Z' }, now),
    'nights allow it later; ends in about 20 min',
  );
  assert.equal(
    waitText({ ...wait, message: '', until: '2026-05-01T10:00:00Z' }, now),
    'ends any moment now',
  );
});

test('a message is shown where it says more than the rest', () => {
  assert.equal(messageOf(makePlan()), '');
  assert.equal(
    messageOf(makePlan({ phase: 'Halted', message: 'too many failures' })),
    'too many failures',
  );
  const waiting = [{ reason: 'Approval', message: 'somebody has to agree' }];
  assert.equal(
    messageOf(makePlan({ phase: 'AwaitingApproval', message: 'somebody has to agree', waiting })),
    '',
  );
});

test('a failure: where, why, and whether the node is still held', () => {
  const failure = {
    node: 'w1',
    stage: 'rest',
    state: 'Working',
    message: 'exit code 1',
    at: '',
    held: true,
  };
  assert.equal(failureText(failure), 'work in progress: exit code 1; the node stays held');
  assert.equal(failureText({ ...failure, state: 'Dancing', held: false }), 'Dancing: exit code 1');
  assert.equal(failureText({ ...failure, state: '', held: false }), 'exit code 1');
});

test('what can be done to it', () => {
  assert.deepEqual(
    [{}, { paused: true }, { aborted: true }, { deleting: true, paused: true }].map(over =>
      switchOf(makePlan(over)),
    ),
    ['pause', 'resume', undefined, undefined],
  );
  assert.deepEqual(
    [{ stage: 'canary' }, {}].map(over =>
      approvalText({ run: '1', revision: 'r', specHash: 'h', ...over }),
    ),
    ['what follows stage canary', 'the run'],
  );
  assert.deepEqual(planBadge(makePlan({ phase: 'Halted' })), { tone: 'failed', word: 'Halted' });
});
