import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type MaintenanceRequest,
  type MaintenanceState,
  noHistory,
  type Report,
} from '../request/request.ts';
import { at, makeRequest } from '../testing/make.ts';
import type { Write } from '../write.ts';
import { problemWrite } from './decision.ts';

/** What is told of a maintenance of which nothing is decided, because deciding it throws. */

const problem = { reason: 'Panic', message: 'a defect of Drydock' };

/** What the kind of this request is given to tell. */
function reportFor(history: Partial<MaintenanceRequest['history']>): Report {
  const told: Report[] = [];
  const { adapter } = makeRequest('one');
  const listens = { ...adapter, status: (report: Report) => ({ said: told.push(report) }) };
  problemWrite(
    makeRequest('one', { adapter: listens, history: { ...noHistory, ...history } }),
    problem,
    at(0),
  );
  return told[0] as Report;
}

describe('what has been said before stays', () => {
  const states: readonly (readonly [MaintenanceState | undefined, boolean])[] = [
    [undefined, false],
    ['Pending', false],
    ['Announced', false],
    ['Draining', true],
    ['Drained', true],
  ];
  for (const [state, held] of states)
    test(`${state ?? 'nothing yet'}: ${held ? 'held' : 'not held'}`, () => {
      const report = reportFor(state === undefined ? {} : { state });
      assert.deepEqual(
        [report.state, report.held, report.problem],
        [state ?? 'Pending', held, problem],
      );
    });

  test('a failure and times, and none where there were none', () => {
    const bare = reportFor({});
    assert.deepEqual(
      ['failure', 'drainStartedAt', 'drainedAt'].filter(field => field in bare),
      [],
    );
    const { failure, drainStartedAt, drainedAt } = reportFor({
      failure: 'NodeNotFound',
      drainStartedAt: at(1),
      drainedAt: at(2),
    });
    assert.equal(failure, 'NodeNotFound');
    assert.equal(drainStartedAt?.equals(at(1)), true);
    assert.equal(drainedAt?.equals(at(2)), true);
  });
});

test('it is written once, against the version that was read', () => {
  const {
    description: what,
    path,
    body,
  } = problemWrite(makeRequest('good'), problem, at(0)) as Write;
  assert.deepEqual(
    { what, path, body },
    {
      what: 'report Panic',
      path: '/apis/test/v1/plains/good/status',
      body: {
        metadata: { resourceVersion: '30' },
        status: { phase: 'Pending', problem: problem.message, blockers: [] },
      },
    },
  );
  const status = { phase: 'Pending', problem: problem.message, blockers: [] };
  assert.equal(
    problemWrite(makeRequest('good', { status }), problem, at(0)),
    undefined,
    'it is there already',
  );
});
