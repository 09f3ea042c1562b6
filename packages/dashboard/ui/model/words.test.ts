import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageReader } from './store.ts';
import { nameOf, plural, since, tally, tallyText, until } from './words.ts';

const now = Date.parse('2026-01-02T12:00:00Z');

const spans: readonly (readonly [time: string, text: string])[] = [
  ['2026-01-02T12:00:00Z', 'a moment'],
  ['2026-01-02T11:59:15Z', '45 s'],
  ['2026-01-02T11:57:01Z', '2 min'],
  ['2026-01-02T09:30:00Z', '2 h 30 min'],
  ['2026-01-01T11:00:00Z', '1 day'],
  ['2025-12-01T12:00:00Z', '32 days'],
  ['2026-01-02T12:00:05Z', 'a moment'],
  ['', ''],
];

for (const [time, text] of spans) {
  test(`since "${time}": "${text}"`, () => {
    assert.equal(since(time, now), text);
  });
}

test('until: a time that has passed is any moment now', () => {
  assert.equal(until('2026-01-02T12:02:00Z', now), 'in about 2 min');
  assert.equal(until('2026-01-02T11:59:00Z', now), 'any moment now');
});

test('numbers and names', () => {
  assert.deepEqual(
    [plural(1, 'pod'), plural(2, 'pod'), plural(0, 'pod waits', 'pods wait')],
    ['1 pod', '2 pods', '0 pods wait'],
  );
  assert.deepEqual([nameOf('shop/web-1'), nameOf('web-1')], ['web-1', 'web-1']);
  assert.deepEqual(tally({ key: 'w1', running: 3, leaving: 2 }, 1), [
    ['blocked', 1],
    ['leaving', 2],
    ['running', 2],
  ]);
  assert.deepEqual(
    [tallyText({ key: 'w1', running: 3 }, 4), tallyText(undefined, 0)],
    ['3 blocked', 'no pods'],
  );
});

test('events are read whole, however the stream is cut', () => {
  const text =
    ': still here\n\nevent: scene\nid: run.1\ndata: {"a":": "}\n\nevent: delta\nid: run.2\ndata: {}\n\n';
  const wanted = [
    { event: 'scene', id: 'run.1', data: '{"a":": "}' },
    { event: 'delta', id: 'run.2', data: '{}' },
  ];
  for (const size of [1, 3, 7, 1000]) {
    const reader = new MessageReader();
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
      text.slice(index * size, (index + 1) * size),
    );
    assert.deepEqual(
      pieces.flatMap(piece => reader.read(piece)),
      wanted,
      String(size),
    );
  }
});
