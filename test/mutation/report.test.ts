import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlantable, sampleOf } from './choose.ts';
import type { Result } from './hunt.ts';
import { figuresOf, foldersOf, outdated, survivorsOf } from './report.ts';
import { mutantsOf } from './schemata.ts';

function resultsOf(
  file: string,
  text: string,
  ...outcomes: readonly Result['outcome'][]
): readonly Result[] {
  return mutantsOf(file, text).map((mutant, at) => ({ mutant, outcome: outcomes[at] ?? 'killed' }));
}

const results = [
  ...resultsOf(
    'packages/core/src/a/x.ts',
    'f(a === b);\nf(c === d);\nf(e === g);',
    'killed',
    'survives',
    'hangs',
  ),
  ...resultsOf('packages/operator/src/y.ts', 'f(h === i);', 'unreached'),
];

test('a fault that hangs is noticed, one that nothing comes by is not; each room has its own bound', () => {
  const figures = figuresOf(results).map(({ room, killed, total, bound }) => ({
    room,
    killed,
    total,
    bound,
  }));
  assert.deepEqual(figures, [
    { room: 'core', killed: 2, total: 3, bound: 85 },
    { room: 'operator', killed: 0, total: 1, bound: 75 },
  ]);
  assert.deepEqual(foldersOf(results), [
    'core/src/a: 2 of 3 (66.7 %)',
    'operator/src: 0 of 1 (0.0 %)',
  ]);
});

test('a survivor is named with its line and its reason, wherever the line has moved', () => {
  const accepted = [
    {
      file: 'packages/core/src/a/x.ts',
      fault: 'c === d → c !== d',
      reason: 'equal behaviour: they are the same',
    },
  ];
  assert.deepEqual(survivorsOf(results, accepted), [
    'packages/core/src/a/x.ts:2  c === d → c !== d\n    comparison turned; equal behaviour: they are the same',
    'packages/operator/src/y.ts:1  h === i → h !== i\n    comparison turned; no unit test comes by it',
  ]);
});

test('a reason for what is noticed by now, or gone, is out of date; of a file that was not tried nothing is known', () => {
  const entry = (file: string, fault: string) => ({ file, fault, reason: '' });
  const old = [
    entry('packages/core/src/a/x.ts', 'a === b → a !== b'),
    entry('packages/core/src/a/x.ts', 'gone → !gone'),
  ];
  const kept = [
    entry('packages/core/src/a/x.ts', 'c === d → c !== d'),
    entry('packages/core/src/untried.ts', 'a → !a'),
  ];
  assert.deepEqual(outdated(results, [...old, ...kept]), old);
});

test('faults are planted in the code of core and operator only', () => {
  const files = [
    'packages/core/src/write.ts',
    'packages/operator/src/machines/event-ingester.ts',
    'packages/core/src/event-kind.test.ts',
    'packages/core/src/testing/make.ts',
    'packages/kube-client/src/watch/watch.ts',
  ];
  assert.deepEqual(files.filter(isPlantable), [
    'packages/core/src/write.ts',
    'packages/operator/src/machines/event-ingester.ts',
  ]);
});

test('a sample is the same for the same seed, and another for another', () => {
  const all = Array.from({ length: 100 }, (_, at) => at);
  assert.deepEqual(sampleOf(all, 10, 1), sampleOf(all, 10, 1));
  assert.notDeepEqual(sampleOf(all, 10, 1), sampleOf(all, 10, 2));
  assert.equal(new Set(sampleOf(all, 10, 1)).size, 10);
});
