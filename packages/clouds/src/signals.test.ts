import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineEvent, Signal } from '@drydock/core/machine';
import fc from 'fast-check';
import { eventsOfNode, type SignalNode, signalPresets } from './signals.ts';
import { plain } from './testing/plain.ts';

const bare: SignalNode = { name: 'n1', labels: {}, annotations: {}, taints: [], conditions: [] };
function condition(type: string, status = 'True', message = ''): Partial<SignalNode> {
  return {
    conditions: [{ type, status, reason: 'Because', message }],
  };
}
function taint(key: string, effect = 'NoSchedule', value?: string): Partial<SignalNode> {
  return {
    taints: [{ key, effect, ...(value !== undefined && { value }) }],
  };
}

function events(node: Partial<SignalNode>, rules: readonly Signal[]): readonly MachineEvent[] {
  return eventsOfNode({ ...bare, ...node }, rules, 'signals');
}

const fitting: readonly (readonly [string, Signal, Partial<SignalNode>, boolean])[] = [
  [
    'a condition',
    { kind: 'reboot', condition: { type: 'A', status: 'True' } },
    condition('A'),
    true,
  ],
  [
    'a condition of another status',
    { kind: 'reboot', condition: { type: 'A', status: 'True' } },
    condition('A', 'False'),
    false,
  ],
  [
    'a condition that is to be False',
    { kind: 'reboot', condition: { type: 'A', status: 'False' } },
    condition('A', 'False'),
    true,
  ],
  [
    'another condition',
    { kind: 'reboot', condition: { type: 'A', status: 'True' } },
    condition('B'),
    false,
  ],
  [
    'a condition that says so',
    { kind: 'reboot', condition: { type: 'A', status: 'True', messageContains: 'reboot S' } },
    condition('A', 'True', 'Reboot Scheduled'),
    true,
  ],
  [
    'a condition that says something else',
    { kind: 'reboot', condition: { type: 'A', status: 'True', messageContains: 'Reboot' } },
    condition('A', 'True', 'Freeze'),
    false,
  ],
  ['a taint', { kind: 'stop', taint: { key: 'a/b' } }, taint('a/b'), true],
  [
    'a taint of any value',
    { kind: 'stop', taint: { key: 'a/b' } },
    taint('a/b', 'NoExecute', 'x'),
    true,
  ],
  [
    'a taint with its value',
    { kind: 'stop', taint: { key: 'a/b', value: 'x' } },
    taint('a/b', 'NoSchedule', 'x'),
    true,
  ],
  [
    'a taint with another value',
    { kind: 'stop', taint: { key: 'a/b', value: 'x' } },
    taint('a/b', 'NoSchedule', 'y'),
    false,
  ],
  [
    'a taint without the value',
    { kind: 'stop', taint: { key: 'a/b', value: 'x' } },
    taint('a/b'),
    false,
  ],
  [
    'a taint with its effect',
    { kind: 'stop', taint: { key: 'a/b', effect: 'NoSchedule' } },
    taint('a/b'),
    true,
  ],
  [
    'a taint with another effect',
    { kind: 'stop', taint: { key: 'a/b', effect: 'NoExecute' } },
    taint('a/b'),
    false,
  ],
  ['an annotation', { kind: 'freeze', annotation: { key: 'a' } }, { annotations: { a: '' } }, true],
  [
    'an annotation with its value',
    { kind: 'freeze', annotation: { key: 'a', value: '1' } },
    { annotations: { a: '1' } },
    true,
  ],
  [
    'an annotation with another value',
    { kind: 'freeze', annotation: { key: 'a', value: '1' } },
    { annotations: { a: '2' } },
    false,
  ],
  [
    'an annotation where a label is meant',
    { kind: 'freeze', label: { key: 'a' } },
    { annotations: { a: '1' } },
    false,
  ],
  ['a label', { kind: 'freeze', label: { key: 'a', value: '1' } }, { labels: { a: '1' } }, true],
  ['a label that every object has', { kind: 'freeze', label: { key: 'constructor' } }, {}, false],
  ['nothing', { kind: 'freeze', label: { key: 'a' } }, {}, false],
];
for (const [what, rule, node, fits] of fitting) {
  test(`${what} ${fits ? 'is an event' : 'is none'}`, () => {
    const [event] = events(node, [rule]);
    assert.equal(event?.kind, fits ? rule.kind : undefined);
  });
}

test('an event says what it comes from, and which machine it is about', () => {
  const providerId = 'aws:///us-east-1a/i-0123456789abcdef0';
  const node = { ...condition('KernelDeadlock', 'True', 'task docker:7 blocked'), providerId };
  assert.deepEqual(
    events(node, [{ condition: { type: 'KernelDeadlock', status: 'True' }, kind: 'reboot' }]).map(
      plain,
    ),
    [
      {
        provider: 'node',
        id: 'condition/KernelDeadlock',
        kind: 'reboot',
        code: 'KernelDeadlock',
        instance: 'i-0123456789abcdef0',
        resource: providerId,
        state: 'Active',
        description: 'task docker:7 blocked',
        source: 'signals',
      },
    ],
  );
  const [nameless] = events(taint('a/b'), [{ taint: { key: 'a/b' }, kind: 'stop' }]).map(plain);
  assert.deepEqual(
    [nameless?.['instance'], nameless?.['resource'], nameless?.['description']],
    ['n1', undefined, 'the node has the taint a/b'],
  );
});

const times: readonly (readonly [
  string,
  Partial<Signal>,
  Partial<SignalNode>,
  readonly (string | undefined)[],
])[] = [
  ['no time', {}, {}, [undefined, undefined, 'Active']],
  [
    'when it begins',
    { notBeforeAnnotation: 'from' },
    { annotations: { from: '2030-01-01T00:00:00Z' } },
    ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z', 'Scheduled'],
  ],
  [
    'both times',
    { notBeforeAnnotation: 'from', deadlineAnnotation: 'by' },
    { annotations: { from: '2030-01-01T00:00:00Z', by: '2030-01-01T02:00:00+01:00' } },
    ['2030-01-01T00:00:00Z', '2030-01-01T01:00:00Z', 'Scheduled'],
  ],
  [
    'the deadline',
    { notBeforeAnnotation: 'from', deadlineAnnotation: 'by' },
    { annotations: { by: '2030-01-01T00:00:00Z' } },
    [undefined, '2030-01-01T00:00:00Z', 'Scheduled'],
  ],
  [
    'an unreadable time',
    { notBeforeAnnotation: 'from' },
    { annotations: { from: 'soon' } },
    [undefined, undefined, 'Active'],
  ],
  [
    'a label in seconds',
    { notBeforeLabel: 'from' },
    { labels: { a: '', from: '1893456000' } },
    ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z', 'Scheduled'],
  ],
  ['its state by the rule', { state: 'Scheduled' }, {}, [undefined, undefined, 'Scheduled']],
];
for (const [what, more, node, wanted] of times) {
  test(`a signal with ${what}`, () => {
    const [event] = events({ labels: { a: '' }, ...node }, [
      { label: { key: 'a' }, kind: 'maintenance', ...more },
    ]);
    assert.deepEqual(
      [event?.notBefore?.toString(), event?.deadline?.toString(), event?.state],
      wanted,
    );
  });
}

test('of rules that fit the same thing the first counts; different things are different events', () => {
  const rules: readonly Signal[] = [
    { taint: { key: 'a', effect: 'NoExecute' }, kind: 'termination' },
    { taint: { key: 'a' }, kind: 'maintenance' },
    { label: { key: 'a' }, kind: 'stop' },
  ];
  const both = {
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'a', effect: 'NoExecute' },
    ],
    labels: { a: '' },
  };
  assert.deepEqual(
    events(both, rules).map(({ id, kind }) => [id, kind]),
    [
      ['taint/a', 'termination'],
      ['label/a', 'stop'],
    ],
  );
});

const aks =
  'Preempt Scheduled: Wed, 26 Feb 2025 10:13:13 GMT. DurationInSeconds: -1.  For more information, see https://aka.ms/aks/scheduledevents.';
const presets: readonly (readonly [
  keyof typeof signalPresets,
  Partial<SignalNode>,
  readonly (string | undefined)[],
])[] = [
  ['node-problem-detector', condition('KernelDeadlock'), ['maintenance', 'Active', undefined]],
  ['node-problem-detector', condition('ReadonlyFilesystem'), ['maintenance', 'Active', undefined]],
  ['node-problem-detector', condition('ReadonlyFilesystem', 'False'), []],
  [
    'gke',
    taint('cloud.google.com/impending-node-termination'),
    ['termination', 'Active', undefined],
  ],
  [
    'gke',
    { labels: { 'cloud.google.com/active-node-maintenance': 'ONGOING' } },
    ['maintenance', 'Active', undefined],
  ],
  ['gke', { labels: { 'cloud.google.com/active-node-maintenance': 'NONE' } }, []],
  [
    'gke',
    { labels: { 'cloud.google.com/scheduled-maintenance-time': '1893456000' } },
    ['maintenance', 'Scheduled', '2030-01-01T00:00:00Z'],
  ],
  [
    'aks',
    condition('VMEventScheduled', 'True', aks),
    ['preemption', 'Scheduled', '2025-02-26T10:13:13Z'],
  ],
  [
    'aks',
    condition('VMEventScheduled', 'True', aks.replace('Preempt', 'Freeze')),
    ['freeze', 'Scheduled', '2025-02-26T10:13:13Z'],
  ],
  [
    'aks',
    condition('VMEventScheduled', 'True', 'something new'),
    ['maintenance', 'Active', undefined],
  ],
  ['aks', condition('VMEventScheduled', 'False', 'VM has no scheduled event'), []],
  [
    'aks',
    condition('PreemptionScheduled', 'True', aks),
    ['preemption', 'Scheduled', '2025-02-26T10:13:13Z'],
  ],
  [
    'aws-node-termination-handler',
    taint('aws-node-termination-handler/spot-itn', 'NoSchedule', 'spot-itn-1'),
    ['preemption', 'Active', undefined],
  ],
  [
    'aws-node-termination-handler',
    taint('aws-node-termination-handler/rebalance-recommendation'),
    ['rebalance', 'Active', undefined],
  ],
  ['karpenter', taint('karpenter.sh/disrupted'), ['termination', 'Active', undefined]],
  [
    'karpenter',
    taint('karpenter.sh/disruption', 'NoSchedule', 'disrupting'),
    ['termination', 'Active', undefined],
  ],
];
for (const [name, node, wanted] of presets) {
  test(`${name}: ${JSON.stringify(node).slice(0, 90)} is ${wanted.join(' ') || 'nothing'}`, () => {
    const value = events(node, signalPresets[name]);
    assert.equal(value.length, wanted.length === 0 ? 0 : 1);
    assert.deepEqual(
      value.flatMap(({ kind, state, notBefore }) => [kind, state, notBefore?.toString()]),
      wanted,
    );
  });
}

test('a healthy node has no events under any preset', () => {
  const healthy = {
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'kubelet is posting ready status',
      },
      {
        type: 'KernelDeadlock',
        status: 'False',
        reason: 'KernelHasNoDeadlock',
        message: 'kernel has no deadlock',
      },
      {
        type: 'VMEventScheduled',
        status: 'False',
        reason: 'NoVMEventScheduled',
        message: 'VM has no scheduled event',
      },
    ],
    labels: { 'kubernetes.io/hostname': 'n1' },
  };
  assert.deepEqual(events(healthy, Object.values(signalPresets).flat()), []);
});

test('law: every id is there once, and a signal that is taken off takes its event with it', () => {
  const rules: readonly Signal[] = Object.values(signalPresets).flat();
  const keys = rules.flatMap(rule => ('taint' in rule ? [rule.taint.key] : []));
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...keys, 'other/taint')), taints => {
      const node = { taints: taints.map(key => ({ key, effect: 'NoSchedule' })) };
      const ids = events(node, rules).map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const key of taints) {
        const without = events(
          { taints: node.taints.filter(taint => taint.key !== key) },
          rules,
        ).map(({ id }) => id);
        assert.deepEqual(
          without,
          ids.filter(id => id !== `taint/${key}`),
        );
      }
    }),
  );
});
