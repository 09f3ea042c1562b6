import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPrintable, printable, printableJson, printableLines } from './printable.ts';
import { joinRows, truncate } from './text.ts';

const shown: readonly (readonly [what: string, text: string, as: string])[] = [
  ['ESC, as kubectl', '\u001b[2J', '^[[2J'],
  ['BEL', '\u0007', '^G'],
  ['DEL', '\u007f', '^?'],
  ['line breaks and tabs', 'a\nb\r\tc', String.raw`a\nb\r\tc`],
  ['C1: CSI and NEL', '\u009b31m\u0085', String.raw`\u009b31m\u0085`],
  ['the bidi override RLO', 'gpj.\u202eexe', String.raw`gpj.\u202eexe`],
  ['a bidi isolate', '\u2066a\u2069', String.raw`\u2066a\u2069`],
  ['zero width', 'a\u200b\u200d\ufeffb', String.raw`a\u200b\u200d\ufeffb`],
  ['separators of lines and paragraphs', '\u2028\u2029', String.raw`\u2028\u2029`],
  ['a soft hyphen', '\u00ad', String.raw`\u00ad`],
  ['a letter without ink', '\u3164\u034f', String.raw`\u3164\u034f`],
  ['tags, beyond the first plane', '\u{e0041}', String.raw`\u{e0041}`],
  ['half of a pair', 'a\ud83d', String.raw`a\ud83d`],
  ['private use', '\ue000', String.raw`\ue000`],
];

for (const [what, text, as] of shown)
  test(`${what} is shown: ${as}`, () => assert.equal(printable(text), as));

test('whatever can be seen stays as it is', () => {
  for (const text of ['Grüße, 世界', '✔ → …', '🚀 ❤️ 🇩🇪', 'नमस्ते', 'e\u0301', String.raw`C:\u001b`])
    assert.equal(printable(text), text);
});

test('law: nothing is left to obey, once is enough, and JSON means the same', () => {
  const hidden = fc.constantFrom(
    '\u001b',
    '\u0007',
    '\n',
    '\t',
    '\u009c',
    '\u202e',
    '\u2069',
    '\u200b',
    '\u2029',
    '\u{e0001}',
    '\ud800',
    '\udc00',
    '"',
    '\\',
    'a',
    '世',
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(hidden, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 12 }),
      parts => {
        const text = parts.join('');
        const once = printable(text);
        assert.ok(isPrintable(once));
        assert.equal(printable(once), once);
        assert.ok(isPrintable(printableLines(text).replaceAll(/[\n\t]/g, '')));
        for (const indent of [undefined, 2]) {
          const json = printableJson(JSON.stringify({ [text]: [text] }, undefined, indent));
          assert.deepEqual(JSON.parse(json), { [text]: [text] });
          assert.ok(isPrintable(json.replaceAll('\n', '')));
        }
      },
    ),
  );
});

test('a text of others is bounded, and no half of a character is made by that', () => {
  assert.equal(truncate('x'.repeat(5), 5), 'xxxxx');
  assert.equal(truncate('x'.repeat(6), 5), 'xxxx…');
  assert.equal(truncate('\u001b'.repeat(1_000_000), 5), '^[^[…');
  assert.equal(truncate('aaa🚀🚀', 5), 'aaa…');
});

test('a row does not break into two, and is bounded', () => {
  assert.equal(joinRows(['a\nb', '', 'c']), 'a\\nb\n\nc');
  assert.equal(joinRows(['x'.repeat(1_000_000)]).length, 10_000);
});
