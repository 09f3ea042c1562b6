import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hunt, surveyOf } from './hunt.ts';
import { mutantsOf, titleOf } from './schemata.ts';

const root = mkdtempSync(join(tmpdir(), 'mutation-'));
after(() => rmSync(root, { recursive: true }));

const code = `
export const limit = 2 + 1;
const seen: number[] = [];
export const isOver = (n: number): boolean => n > limit;
export const spoils = (n: number): boolean => { if (n !== 1) seen.push(n); return seen.length === 0; };
export const counts = (n: number): number => { let at = 0; while (at < n) at += 1; return at; };
export const unseen = (n: number): boolean => n === 7;
`;

const tests = `
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { counts, isOver, limit, spoils } from './code.ts';
test('the limit', () => assert.equal(limit, 3));
describe('over it', () => { for (const n of [1, 9]) test(String(n), () => assert.equal(isOver(n), n === 9)); });
test('what stays behind', async () => assert.equal(spoils(1), true));
test('an end', () => assert.equal(counts(2), 2));
`;

const asked = `
import { before, test } from 'node:test';
before(() => undefined);
test('needs more of the runner', () => undefined);
`;

test('faults that are noticed, that hang, that leave something behind, that matter at loading only, and that no test comes by', async () => {
  for (const [name, text] of Object.entries({
    'code.ts': code,
    'code.test.ts': tests,
    'asked.test.ts': asked,
  })) {
    writeFileSync(join(root, name), text);
  }
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  const setting = { root, tests: ['code.test.ts', 'asked.test.ts'], planted: ['code.ts'] };
  const survey = await surveyOf(setting);
  assert.deepEqual(Object.keys(survey.leftOut), ['asked.test.ts']);
  assert.deepEqual(
    survey.cases.map(({ name }) => name),
    ['the limit', 'over it > 1', 'over it > 9', 'what stays behind', 'an end'],
  );
  const results = await hunt(setting, survey, mutantsOf('code.ts', code), undefined, {
    patience: 300,
    budget: 3000,
  });
  const told = results.map(({ mutant, outcome, killer }) =>
    `${titleOf(mutant)}: ${outcome} ${killer?.split(/: | > /)[1] ?? ''}`.trim(),
  );
  assert.deepEqual(told.toSorted(), [
    '2 + 1 → 2 - 1: killed the limit',
    'at += 1 → at -= 1: hangs',
    'at < n → at <= n: killed an end',
    'at < n → at >= n: killed an end',
    'n !== 1 → n === 1: killed what stays behind',
    'n === 7 → n !== 7: unreached',
    'n > limit → n <= limit: killed over it',
    'n > limit → n >= limit: survives',
    'seen.length === 0 → seen.length !== 0: killed what stays behind',
  ]);
});
