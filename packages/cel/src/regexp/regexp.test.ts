import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { CostMeter, EvalError } from '../failure.ts';
import { matches } from './regexp.ts';

function own(pattern: string, text: string): boolean | string {
  try {
    return matches(text, pattern, new CostMeter(10_000_000));
  } catch (error) {
    if (error instanceof EvalError) return error.message;
    throw error;
  }
}

function theirs(pattern: string, text: string): boolean | undefined {
  try {
    return RE2JS.compile(pattern).matcher(text).find();
  } catch {
    return undefined;
  }
}

const atoms =
  String.raw`a b c K k ſ ä 1 _ - . \. \d \D \w \W \s \S ^ $ \b \B \A \z [ab] [^a] [a-c0-9] [-a] [a-] []a] [\w-] [^\W] [\]\-] [[:alpha:]] [[:^digit:]x] \pL \PN \p{Greek} \P{^Lu} \x41 \x{1F600} 😀 \n \Qa.b\E (?-i:A) (?s:.) (?m:^b) (?m:a$) (?i:[k-s]) (?i:\W)`.split(
    ' ',
  );
const repeats = ['', '', '', '', '', '*', '+', '?', '*?', '{2}', '{1,3}', '{0,}', '{2,1}', '**'];

const { pattern } = fc.letrec<{ pattern: string; part: string }>(tie => ({
  pattern: fc.array(tie('part'), { minLength: 1, maxLength: 4 }).map(parts => parts.join('')),
  part: fc
    .tuple(
      fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom(...atoms),
        tie('pattern').map(inner => `(${inner})`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(?:${one}|${other})`),
        tie('pattern').map(inner => `(?i:${inner})`),
      ),
      fc.constantFrom(...repeats),
    )
    .map(([atom, repeat]) => atom + repeat),
}));

const text = fc
  .array(fc.constantFrom(...Array.from('abcABCkKsS\u212aſäÄ1_ \n.-]αΩ\t😀')), { maxLength: 8 })
  .map(characters => characters.join(''));

test('patterns match what RE2 matches, and those that it refuses are refused', () =>
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 4 }), (source, texts) => {
      for (const one of texts) {
        const result = own(source, one);
        assert.equal(
          typeof result === 'string' ? undefined : result,
          theirs(source, one),
          `${JSON.stringify(source)} on ${JSON.stringify(one)}: ${result}`,
        );
      }
    }),
    { numRuns: 3000 },
  ));

test('what RE2 does not have is refused', () => {
  for (const source of [
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(a)\\1',
    '\\k<a>',
    'a{1001}',
    '((a{100}){100}){100}',
    '(',
    ')',
    '[a',
    '*',
    'a**',
    '(?i)*',
    '{2}',
    '(?P<n>a)(?P<n>b)',
    '\\',
    '\\8',
    '[b-a]',
    '[[:no:]]',
    '\\p{No}x{2,1}',
    '\\p{Nothing}',
  ])
    assert.match(String(own(source, 'a')), /^error parsing regexp: /, source);
  assert.match(String(own('('.repeat(1000) + ')'.repeat(1000), 'a')), /nests too deeply/);
  assert.match(String(own('(((){1000}){1000}){1000}', 'a')), /too large/);
});
