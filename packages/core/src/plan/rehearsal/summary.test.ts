import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { at } from '../../testing/make.ts';
import { maxSummaryLength, type RehearsalSummary, readSummary, summaryText } from './rehearsal.ts';

/**
 * What a rehearsal's pod says is somebody else's word: read within bounds, and written so that
 * kubelet cuts nothing.
 */

const summary: RehearsalSummary = {
  snapshotTime: at(0),
  finishes: false,
  end: at(600),
  latestEnd: at(900),
  nodes: 12,
  windows: 2,
  podsMoved: 100,
  podsMovedAgain: 7,
  blocked: [{ node: 'n1', message: 'budget shop/web never allows it' }],
  blockedNodes: 1,
  lowest: [{ workload: 'Deployment shop/web', ready: 2, replicas: 3 }],
  firstNodes: ['n4', 'n2'],
};

test('what is written is read as it was', () => {
  assert.deepEqual(readSummary(summaryText(summary)), summary);
  const { end: _end, latestEnd: _latest, ...open } = summary;
  assert.deepEqual(readSummary(summaryText(open)), open);
});

test('lists give way before kubelet would cut the text, and every character is a byte', () => {
  const long = 'ü'.repeat(253);
  const many = <T>(one: T): readonly T[] => Array.from({ length: 300 }, () => one);
  const text = summaryText({
    ...summary,
    blocked: many({ node: long, message: long }),
    blockedNodes: 300,
    lowest: many({ workload: long + long, ready: 0, replicas: 1 }),
    firstNodes: many(long),
  });
  assert.ok(text.length <= maxSummaryLength, `${text.length}`);
  assert.equal(new TextEncoder().encode(text).length, text.length);
  const read = readSummary(text);
  assert.equal(read?.blockedNodes, 300, 'numbers stay');
});

test('whatever somebody writes is bounded, or is no summary', () => {
  const raw = JSON.parse(summaryText(summary)) as JsonObject;
  const read = (over: JsonObject): RehearsalSummary | undefined =>
    readSummary(JSON.stringify({ ...raw, ...over }));
  assert.deepEqual(
    [
      read({ nodes: -1 })?.nodes,
      read({ nodes: 1e300 })?.nodes,
      read({ nodes: '7' })?.nodes,
      read({ nodes: 1.5 })?.nodes,
    ],
    [0, 1_000_000_000, 0, 1],
  );
  assert.equal(read({ estimatedCompletionTime: 'never' })?.end, undefined);
  assert.equal(
    read({ blocked: [{ node: 'x'.repeat(2000), message: 5 }, 7] })?.blocked[0]?.node.length,
    253,
  );
  assert.equal(read({ firstNodes: Array.from({ length: 99 }, () => 'n') })?.firstNodes.length, 20);
  for (const text of [
    '',
    'null',
    '[]',
    '{',
    '{"finishes":true}',
    'x'.repeat(5000),
    JSON.stringify({ ...raw, finishes: 'yes' }),
  ])
    assert.equal(readSummary(text), undefined, text.slice(0, 30));
});
