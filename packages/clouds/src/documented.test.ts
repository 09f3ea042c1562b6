import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventKinds } from '@drydock/core';
import type { Signal } from '@drydock/core/machine';
import { eventStates, troubleReasons } from '@drydock/core/machine';
import { parse } from 'yaml';
import { ec2Codes } from './aws/client.ts';
import { machineEvents } from './aws/events.ts';
import { readCloudEvents } from './cloudevents.ts';
import { eventsOfNode, signalPresets } from './signals.ts';

const text = readFileSync(new URL('../../../docs/machine-events.md', import.meta.url), 'utf8');
function blocks(language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, block = '']) => block,
  );
}
/** Rows of all tables, by their first cell. */
const rows = new Map(
  [...text.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, first = '', rest = '']) => [first, rest]),
);

test('every word of the code is in the document', () => {
  for (const word of [...eventKinds, ...eventStates, ...troubleReasons, ...ec2Codes])
    assert.ok(text.includes(`\`${word}\``), word);
});

test('the table of EC2`s codes says what the code does', () => {
  const now = Temporal.Instant.from('2030-01-01T00:00:00Z');
  for (const code of ec2Codes) {
    const row = [...rows].find(([first]) => first.includes(`\`${code}\``));
    assert.equal(row?.[1], `\`${machineEvents([{ code }], 'i', 's', now)[0]?.kind}\``, code);
  }
});

test('the policy asks for the one right, and is JSON', () => {
  const [policy = ''] = blocks('json');
  const { Statement } = JSON.parse(policy) as {
    readonly Statement: readonly { readonly Action: string }[];
  };
  assert.deepEqual(
    Statement.map(({ Action }) => Action),
    ['ec2:DescribeInstanceStatus'],
  );
});

test('the rules that are shown are rules', () => {
  const yaml = blocks('yaml').find(block => block.startsWith('- ')) ?? '';
  const node = {
    name: 'n1',
    labels: { 'example.com/window': '1893456000' },
    annotations: {
      'example.com/from': '2030-01-01T00:00:00Z',
      'example.com/by': '2029-12-31T00:00:00Z',
    },
    taints: [{ key: 'example.com/rack-work', value: 'tonight', effect: 'NoSchedule' }],
    conditions: [{ type: 'KernelDeadlock', status: 'True', reason: '', message: '' }],
  };
  const events = eventsOfNode(node, parse(yaml) as readonly Signal[], 's');
  assert.deepEqual(
    events.map(({ id, deadline }) => [id, deadline?.toString()]),
    [
      ['condition/KernelDeadlock', undefined],
      ['taint/example.com/rack-work', '2029-12-31T00:00:00Z'],
      ['label/example.com/window', '2030-01-01T00:00:00Z'],
    ],
  );
});

test('every preset and every signal of it is in the table', () => {
  for (const [name, rules] of Object.entries(signalPresets)) {
    assert.ok(rows.has(`\`${name}\``), name);
    for (const rule of rules as readonly Signal[]) {
      const word =
        'condition' in rule
          ? rule.condition.type
          : 'taint' in rule
            ? rule.taint.key
            : 'label' in rule
              ? rule.label.key
              : '';
      const short = word.replace('aws-node-termination-handler/', '');
      assert.ok(short !== '' && text.includes(short), `${name}: ${word}`);
      assert.ok(text.includes(`\`${rule.kind}\``));
    }
  }
});

test('the example of a CloudEvent is one', () => {
  const body = /-d '(\{.*?\n\})'/s.exec(text)?.[1] ?? '';
  const answer = readCloudEvents({
    headers: { 'content-type': 'application/cloudevents+json' },
    body,
  });
  assert.ok(!('refused' in answer), 'refused' in answer ? answer.refused : '');
  assert.deepEqual(
    answer.events.map(({ id, kind, instance }) => [id, kind, instance]),
    [['rack-7/2030-01', 'reboot', 'worker-1']],
  );
});
