import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Marks, noMarks } from '../node/marks.ts';
import { type Node, type Taint, taintId } from '../node/node.ts';
import { patchNode } from '../testing/apply.ts';
import { makeNode } from '../testing/make.ts';
import { holdChange as change, discardRecordChange, inferredRecord, unionMarks } from './hold.ts';
import type { HoldRecord } from './hold-record.ts';

const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const seed: Marks = {
  unschedulable: true,
  taints: [unschedulable, { key: 'medik8s.io/drain', effect: 'NoSchedule' }],
  labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
};
const own: Marks = {
  ...seed,
  taints: [unschedulable, { key: 'drydock.dev/drain', effect: 'NoSchedule' }],
};

/** As the operator asks for it: both kinds are served. */
function holdChange(
  node: Node,
  wanted: Marks,
  holders: { readonly assumed?: HoldRecord } = {},
): ReturnType<typeof change> {
  return change(node, wanted, { marks: unionMarks([seed, own]), ...holders });
}

/**
 * Applies the change that brings the node to what is wanted; the node itself when there is none to
 * make.
 */
function bring(node: Node, wanted: Marks): Node {
  const change = holdChange(node, wanted);
  return change === undefined ? node : patchNode(node, change.patch);
}

function plain({ unschedulable, taints, labels, holdRecord }: Node): object {
  return {
    unschedulable,
    taints: taints.toSorted((one, other) => (taintId(one) < taintId(other) ? -1 : 1)),
    labels: { ...labels },
    holdRecord,
  };
}

test('cordon, taints, label and the record of what was there go into one guarded write', () => {
  const change = holdChange(makeNode({ resourceVersion: '77' }), seed);
  assert.deepEqual(change?.patch, {
    metadata: {
      resourceVersion: '77',
      annotations: {
        'drydock.dev/before':
          '{"unschedulable":false,"taints":{"medik8s.io/drain:NoSchedule":null,"node.kubernetes.io/unschedulable:NoSchedule":null},"labels":{"remediation.medik8s.io/exclude-from-remediation":null}}',
      },
      labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
    },
    spec: { unschedulable: true, taints: [...seed.taints] },
  });
});

test('the wanted taints come first, then those of others in their order', () => {
  const others = [
    { key: 'a', effect: 'NoExecute' },
    { key: 'b', effect: 'NoSchedule', value: 'x' },
  ];
  assert.deepEqual(bring(makeNode({ taints: others }), seed).taints, [...seed.taints, ...others]);
});

test('what is put on by hand meanwhile stays after the release', () => {
  const held = bring(makeNode(), seed);
  const touched = {
    ...held,
    taints: [...held.taints, { key: 'late', effect: 'NoExecute' }],
    labels: { ...held.labels, team: 'x' },
  };
  const released = bring(touched, noMarks);
  assert.deepEqual(released.taints, [{ key: 'late', effect: 'NoExecute' }]);
  assert.deepEqual(released.labels, { team: 'x' });
  assert.equal(released.unschedulable, false);
});

test('what is taken away by hand is put back, and named', () => {
  const held = bring(makeNode(), seed);
  const change = holdChange({ ...held, unschedulable: false, taints: [], labels: {} }, seed);
  assert.deepEqual(change?.lost, [
    'the cordon',
    'the taint medik8s.io/drain:NoSchedule',
    'the taint node.kubernetes.io/unschedulable:NoSchedule',
    'the label remediation.medik8s.io/exclude-from-remediation',
  ]);
});

test('only what an earlier hold has set can be lost: what is wanted anew is put on without a word', () => {
  const lost = (held: Marks, seen: Partial<Node>, wanted = seed) =>
    holdChange({ ...bring(makeNode(), held), ...seen }, wanted)?.lost;
  const cordon: Marks = { ...noMarks, unschedulable: true };
  assert.deepEqual(lost(cordon, {}), [], 'taints and the label are new');
  assert.deepEqual(
    lost({ ...seed, unschedulable: false }, { unschedulable: false }),
    [],
    'the cordon is new',
  );
  assert.deepEqual(lost(seed, { unschedulable: false }), ['the cordon']);
  assert.deepEqual(
    lost(seed, { unschedulable: false }, { ...seed, unschedulable: false }),
    [],
    'it is not wanted any more',
  );
  assert.deepEqual(lost(seed, { taints: seed.taints.slice(0, 1) }), [
    'the taint medik8s.io/drain:NoSchedule',
  ]);
  assert.deepEqual(
    lost(seed, { labels: { 'remediation.medik8s.io/exclude-from-remediation': 'false' } }),
    ['the label remediation.medik8s.io/exclude-from-remediation'],
  );
});

test('a node becomes schedulable by being released when it was before, and only if it is not yet', () => {
  const uncordons = (before: Partial<Node>, seen: Partial<Node> = {}) =>
    holdChange({ ...bring(makeNode(before), seed), ...seen }, noMarks)?.uncordons;
  assert.equal(uncordons({}), true);
  assert.equal(uncordons({ unschedulable: true }), false, 'it stays cordoned');
  assert.equal(uncordons({}, { unschedulable: false }), false, 'somebody has uncordoned it');
  assert.equal(holdChange(makeNode(), seed)?.uncordons, false);
});

test('a taint and a label that were there before, and that somebody has taken off, are put back with the release', () => {
  const taint = { key: 'medik8s.io/drain', effect: 'NoSchedule', value: 'mine' };
  const labels = { 'remediation.medik8s.io/exclude-from-remediation': 'false' };
  const node = makeNode({ taints: [taint], labels });
  const bare = { ...bring(node, seed), unschedulable: false, taints: [], labels: {} };
  assert.deepEqual(plain(bring(bare, noMarks)), plain(node));
});

test('a write has no part in which nothing changes', () => {
  const { patch } =
    holdChange(bring(makeNode(), noMarks), { ...noMarks, labels: seed.labels }) ?? {};
  assert.deepEqual(Object.keys(patch ?? {}), ['metadata']);
  assert.equal(holdChange(makeNode(), noMarks), undefined);
});

test('a label that was not there and is gone already is not taken off once more', () => {
  const held = bring(makeNode(), { ...noMarks, labels: seed.labels });
  assert.deepEqual(holdChange({ ...held, labels: {} }, noMarks)?.patch, {
    metadata: {
      resourceVersion: held.resourceVersion,
      annotations: { 'drydock.dev/before': null },
    },
  });
});

test('the record alone is forgotten without a change of the node', () => {
  assert.deepEqual(discardRecordChange(makeNode({ resourceVersion: '77' })), {
    patch: { metadata: { resourceVersion: '77', annotations: { 'drydock.dev/before': null } } },
    uncordons: false,
    lost: [],
  });
});

test('a node that another operator holds without a record is released as that operator would have', () => {
  const held = makeNode({
    unschedulable: true,
    taints: [...seed.taints, { key: 'mine', effect: 'NoExecute' }],
    labels: { ...seed.labels },
  });
  const taken = holdChange(held, seed, { assumed: inferredRecord(seed) });
  assert.ok(taken !== undefined);
  const released = bring(patchNode(held, taken.patch), noMarks);
  assert.deepEqual(
    plain(released),
    plain(makeNode({ taints: [{ key: 'mine', effect: 'NoExecute' }] })),
  );
});

test("an unreadable record takes nothing away that may be somebody else's", () => {
  const broken = makeNode({
    unschedulable: true,
    taints: [...seed.taints],
    holdRecord: '{nonsense',
  });
  const released = bring(broken, noMarks);
  assert.equal(released.unschedulable, true);
  assert.deepEqual(released.taints, seed.taints);
  assert.equal(released.holdRecord, undefined);
});

const taints: fc.Arbitrary<readonly Taint[]> = fc
  .uniqueArray(
    fc.constantFrom(
      ...seed.taints,
      ...own.taints,
      { key: 'x', effect: 'NoExecute' },
      { key: 'medik8s.io/drain', effect: 'NoExecute' },
    ),
    { selector: taintId },
  )
  .chain(all =>
    fc.tuple(
      ...all.map(taint =>
        fc
          .option(fc.constantFrom('v', 'w'), { nil: undefined })
          .map(value => (value === undefined ? taint : { ...taint, value })),
      ),
    ),
  );
const labels = fc.dictionary(
  fc.constantFrom('remediation.medik8s.io/exclude-from-remediation', 'team'),
  fc.constantFrom('true', 'false', 'x'),
);
const nodes = fc
  .record({ unschedulable: fc.boolean(), taints, labels })
  .map(over => makeNode(over));
/** Any sequence of maintenances of two kinds that come and go, and of stages. */
const markSets = fc.array(fc.subarray([seed, own, { ...own, taints: [unschedulable] }]), {
  maxLength: 6,
});

test('law: whatever comes and goes in between, the last release restores the node exactly', () => {
  fc.assert(
    fc.property(nodes, markSets, (node, markSets) => {
      const last = markSets.reduce((at, marks) => bring(at, unionMarks(marks)), node);
      assert.deepEqual(plain(bring(last, noMarks)), plain(node));
    }),
  );
});

test('law: a held node carries every mark, and holding it again changes nothing', () => {
  fc.assert(
    fc.property(nodes, markSets, (node, markSets) => {
      for (const marks of markSets) {
        const wanted = unionMarks(marks);
        const held = bring(node, wanted);
        assert.equal(holdChange(held, wanted), undefined);
        if (wanted.unschedulable) assert.equal(held.unschedulable, true);
        for (const taint of wanted.taints)
          assert.ok(held.taints.some(one => taintId(one) === taintId(taint)));
        for (const [key, value] of Object.entries(wanted.labels))
          assert.equal(held.labels[key], value);
      }
    }),
  );
});

test('law: taints and labels of others survive everything', () => {
  fc.assert(
    fc.property(nodes, markSets, (node, markSets) => {
      const last = markSets.reduce((at, marks) => bring(at, unionMarks(marks)), node);
      const foreign = node.taints.filter(({ key }) => key === 'x');
      for (const taint of foreign)
        assert.ok(last.taints.some(one => one.key === taint.key && one.value === taint.value));
      assert.equal(last.labels['team'], node.labels['team']);
    }),
  );
});

/**
 * A record as somebody would write it who wants more than he has: foreign keys, keys of ours with a
 * foreign taint behind them, odd types, or no JSON at all.
 */
function forged(): fc.Arbitrary<string> {
  const key = fc.constantFrom(
    ...seed.taints.map(taintId),
    'dedicated:NoSchedule',
    'node-role.kubernetes.io/etcd',
    'node-restriction.kubernetes.io/tier',
    'remediation.medik8s.io/exclude-from-remediation',
    '__proto__',
    'constructor',
    '',
  );
  const taint = fc.record({
    key: fc.constantFrom('dedicated', 'medik8s.io/drain'),
    effect: fc.constantFrom('NoExecute', 'NoSchedule'),
    value: fc.constantFrom('v', '!', 7),
  });
  const value = fc.oneof(
    fc.constant(null),
    fc.jsonValue(),
    taint,
    fc.constantFrom('true', 'not a label value', 'x'.repeat(64)),
  );
  const entries = fc
    .array(fc.tuple(key, value))
    .map(
      pairs =>
        `{${pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join()}}`,
    );
  const record = fc
    .tuple(entries, entries, fc.json(), fc.jsonValue())
    .map(
      ([taints, labels, unschedulable, kinds]) =>
        `{"unschedulable":${unschedulable},"taints":${taints},"labels":${labels},"kinds":${JSON.stringify(kinds)}}`,
    );
  return fc.oneof(record, record, fc.json(), fc.string());
}

test('law: whatever the record says, nothing is touched that no served kind could have put there', () => {
  const marked = new Set([...seed.taints, ...own.taints].map(taintId));
  const markedLabels = new Set(Object.keys(seed.labels));
  const foreignIn = ({ taints, labels }: Node): object => ({
    taints: taints.filter(taint => !marked.has(taintId(taint))),
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !markedLabels.has(key))),
  });
  fc.assert(
    fc.property(nodes, forged(), markSets, (node, holdRecord, markSets) => {
      let last: Node = { ...node, holdRecord };
      for (const wanted of [...markSets.map(unionMarks), noMarks]) {
        last = bring(last, wanted);
        assert.deepEqual(foreignIn(last), foreignIn(node));
        for (const taint of last.taints)
          assert.match(
            taint.value ?? '',
            /^\w{0,63}$/,
            'the API server would refuse it, and the hold with it',
          );
      }
      assert.equal(last.holdRecord, undefined);
    }),
    { numRuns: 1000 },
  );
});
