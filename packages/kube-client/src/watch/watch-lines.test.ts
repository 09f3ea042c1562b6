import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf } from './watch.ts';

/** Splits a text into chunks at these places. */
async function* chunksOf(text: string, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.filter(cut => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [at, place] of places.slice(0, -1).entries())
    yield bytes.subarray(place, places[at + 1]);
}

async function read(text: string, cuts: readonly number[], longest?: number): Promise<unknown> {
  const lines: string[] = [];
  try {
    for await (const some of linesOf(chunksOf(text, cuts), longest)) lines.push(...some);
  } catch (error) {
    return String(error);
  }
  return lines;
}

const tooLong = 'Error: a line of the watch is longer than 4 bytes';

test('a line that is too long ends the watch: over many chunks, in one, and without an end', async () => {
  for (const cuts of [[], [3], [1, 2, 3, 4, 5, 6]])
    for (const text of ['abcde\n', 'abcde', 'a\nabcde\nb\n', 'abcdefgh\n', 'ääa\n'])
      assert.equal(await read(text, cuts, 4), tooLong, `${text} at ${cuts.join()}`);
  assert.deepEqual(await read('abcd\nää\n\nabcd', [2, 8], 4), ['abcd', 'ää', '']);
});

test('an object of 65 MB in one chunk is none', async () => {
  const text = `${'a'.repeat(65 * 1024 * 1024)}\n`;
  assert.match(String(await read(text, [])), /longer than 67108864 bytes/);
});

/** Returns all texts of these characters up to a length. */
function textsOf(characters: readonly string[], length: number): readonly string[] {
  if (length === 0) return [''];
  const shorter = textsOf(characters, length - 1);
  return ['', ...characters.flatMap(first => shorter.map(rest => first + rest))];
}

test('lines do not depend on the chunks, and neither does their bound', async () => {
  for (const text of textsOf(['a', 'ä', '\n'], 4)) {
    const all = text.split('\n');
    const lines = all.slice(0, -1);
    const isLong = all.some(line => Buffer.byteLength(line) > 4);
    const places = Array.from(
      { length: Math.max(0, Buffer.byteLength(text) - 1) },
      (_, i) => i + 1,
    );
    for (let set = 0; set < 2 ** places.length; set += 1) {
      const cuts = places.filter((_, index) => (set & (1 << index)) !== 0);
      assert.deepEqual(await read(text, cuts), lines);
      assert.deepEqual(await read(text, cuts, 4), isLong ? tooLong : lines);
    }
  }
});
