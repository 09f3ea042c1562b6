import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barsLines, ProgressBars } from './drain.ts';
import type { Progress } from './node-drain.ts';

function progress(nodeName: string, over: Partial<Progress> = {}): Progress {
  return {
    nodeName,
    gone: 0,
    all: 4,
    terminating: 0,
    waits: '',
    ...over,
  };
}

test('a line a node, with what waits for what', () => {
  const all = [
    progress('n2', { gone: 2, terminating: 1, waits: 'shop/web' }),
    progress('long-name'),
    progress('done', { gone: 4 }),
  ];
  assert.deepEqual(barsLines(all, 100), [
    'long-name  ░░░░░░░░░░░░░░░░░░░░░░░░  0/4',
    'n2         ████████████░░░░░░░░░░░░  2/4  1 terminating, waits for shop/web',
  ]);
});

test('no line is wider than the terminal, and of many nodes the ones least far are shown', () => {
  const many = Array.from({ length: 30 }, (_, n) =>
    progress(`n${String(n).padStart(2, '0')}`, { all: n + 1 }),
  );
  const lines = barsLines(many, 20);
  assert.equal(lines.length, 13);
  assert.ok(lines.every(line => line.length < 20));
  assert.match(lines[0] ?? '', /^n18/);
  assert.equal(lines.at(-1), 'and 18 more nodes');
});

test('lines go above the picture, and nothing of the picture stays behind', () => {
  let screen = '';
  const write = (text: string): void => void (screen += text);
  const bars = new ProgressBars({ columns: 80, write }, () => [progress('n1')]);
  const output = bars.output({
    line: text => write(`${text}\n`),
    note: text => write(`${text}\n`),
  });
  bars.draw();
  output.line('pod/a evicted');
  bars.lift();
  const drawn = `n1  ${'░'.repeat(24)}  0/4\n`;
  const lifted = '\r\u001b[1A\u001b[2K';
  assert.equal(screen, `${drawn}${lifted}pod/a evicted\n${drawn}${lifted}`);
});
