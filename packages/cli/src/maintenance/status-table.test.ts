import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusTable } from './status-table.ts';

type Shown = Parameters<typeof statusTable>[0][number];

function shown(over: Partial<Shown> = {}): Shown {
  return {
    node: 'n1',
    kind: 'Maintenance',
    name: 'disk',
    phase: 'Draining',
    level: 'Drain',
    reason: 'disk is failing',
    requester: '',
    ends: '',
    progress: '2/5',
    since: '2026-11-21T08:00:00Z',
    message: '',
    blockers: [],
    ...over,
  };
}

function blocker(
  what: string,
  over: Partial<Shown['blockers'][number]> = {},
): Shown['blockers'][number] {
  return {
    reason: 'DisruptionBudget',
    what,
    message: 'budget web needs 3',
    ...over,
  };
}

test('nothing to show is said in a sentence', () => {
  assert.equal(statusTable([], [], { node: undefined, wide: false }), 'No node is in maintenance.');
  assert.equal(statusTable([], [], { node: 'n7', wide: false }), 'No maintenance holds node n7.');
});

test('columns are as wide as their widest cell, and no line ends in blanks', () => {
  const text = statusTable(
    [shown(), shown({ node: 'a-much-longer-name', reason: '', phase: 'Drained' })],
    ['n9'],
    {
      node: undefined,
      wide: false,
    },
  );
  assert.equal(
    text,
    [
      'NODE                 KIND          NAME   PHASE                       GONE   SINCE                  REASON',
      'n1                   Maintenance   disk   Draining                    2/5    2026-11-21T08:00:00Z   disk is failing',
      'a-much-longer-name   Maintenance   disk   Drained                     2/5    2026-11-21T08:00:00Z',
      'n9                   -             -      Cordoned by somebody else   -      -                      -',
    ].join('\n'),
  );
});

test('below the table: what is the matter, who is in the way, since when, and what would help', () => {
  const blockers = [
    blocker('shop/a', { since: '2026-11-21T08:01:00Z', remedy: 'run more replicas' }),
    blocker('', { reason: 'VolumeAttached', message: 'volume pv-1 is still attached' }),
  ];
  const text = statusTable([shown({ message: '2 of 5 pods gone', blockers })], [], {
    node: 'n1',
    wide: false,
  });
  assert.equal(
    text.slice(text.indexOf('\n\n') + 2),
    [
      'n1, Maintenance disk: 2 of 5 pods gone',
      '  shop/a: budget web needs 3 (DisruptionBudget, since 2026-11-21T08:01:00Z)',
      '      help: run more replicas',
      '  VolumeAttached: volume pv-1 is still attached (VolumeAttached)',
    ].join('\n'),
  );
});

test('wide: who asked, how far it is to go, when it is expected to end, and how many are in the way', () => {
  const one = shown({
    requester: 'patching.example.com',
    ends: '2026-11-21T09:00:00Z',
    blockers: [blocker('shop/a')],
  });
  const [head, row, other] = statusTable([one], ['n9'], { node: undefined, wide: true }).split(
    '\n',
  );
  assert.match(head ?? '', /REASON +LEVEL +REQUESTER +EXPECTED END +BLOCKERS$/);
  assert.match(row ?? '', /disk is failing +Drain +patching.example.com +2026-11-21T09:00:00Z +1$/);
  assert.match(other ?? '', /^n9 .*- +- +- +- +- +- +-$/);
});

test('of many blockers ten are shown and the rest is counted', () => {
  const blockers = Array.from({ length: 5000 }, (_, n) => blocker(`shop/p${n}`));
  const lines = statusTable([shown({ blockers })], [], { node: undefined, wide: false }).split(
    '\n',
  );
  assert.equal(lines.length, 2 + 2 + 10 + 1);
  assert.equal(lines.at(-1), '  and 4990 more');
  const ten = statusTable([shown({ blockers: blockers.slice(0, 10) })], [], {
    node: undefined,
    wide: false,
  });
  assert.doesNotMatch(ten, / more$/);
});

test('a maintenance with nothing to say has no lines of its own', () => {
  assert.equal(statusTable([shown()], [], { node: undefined, wide: false }).split('\n').length, 2);
});

test('the same picture is the same text', () => {
  const all = [shown({ blockers: [blocker('shop/a')] }), shown({ node: 'n2' })];
  assert.equal(
    statusTable(all, ['n9'], { node: undefined, wide: false }),
    statusTable(structuredClone(all), ['n9'], { node: undefined, wide: false }),
  );
});
