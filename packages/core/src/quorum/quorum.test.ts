import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readNode } from '../node/node.ts';
import { makeNode } from '../testing/make.ts';
import {
  allowQuorumLossAnnotation,
  isWarnedOnly,
  type Member,
  mayLoseQuorum,
  membersOf,
  quorumAllows,
  quorumMessage,
} from './quorum.ts';

const ready = { type: 'Ready', status: 'True', reason: '', message: '' };

function node(
  name: string,
  label: string,
  over: Parameters<typeof makeNode>[0] = {},
): ReturnType<typeof makeNode> {
  return makeNode({ key: name, name, labels: { [label]: '' }, conditions: [ready], ...over });
}

function member(name: string, over: Partial<Member> = {}): Member {
  return { name, ready: true, held: false, ...over };
}
function members(count: number): readonly Member[] {
  return Array.from({ length: count }, (_, index) => member(`cp-${index}`));
}

const overridden =
  'the annotation drydock.dev/allow-quorum-loss: "true" on the maintenance object overrides this';

describe('the members of the quorum', () => {
  test('are the control-plane nodes, whatever the value of their label and whichever of the two it is', () => {
    const nodes = [
      node('a', 'node-role.kubernetes.io/control-plane'),
      node('b', 'node-role.kubernetes.io/master', {
        labels: { 'node-role.kubernetes.io/master': 'false' },
      }),
      node('w', 'node-role.kubernetes.io/worker'),
    ];
    assert.deepEqual(membersOf(nodes), [member('a'), member('b')]);
  });

  test('are the nodes of etcd alone where there are any', () => {
    const nodes = [
      node('a', 'node-role.kubernetes.io/control-plane'),
      node('e', 'node-role.kubernetes.io/etcd'),
    ];
    assert.deepEqual(membersOf(nodes), [member('e')]);
  });

  test('are ready when the condition says True, and held when the record of a hold is on them', () => {
    const label = 'node-role.kubernetes.io/control-plane';
    const nodes = [
      node('false', label, { conditions: [{ ...ready, status: 'False' }] }),
      node('unknown', label, { conditions: [{ ...ready, status: 'Unknown' }] }),
      node('none', label, { conditions: [] }),
      node('held', label, { holdRecord: '{}' }),
      readNode({
        metadata: { name: 'raw', uid: 'u', resourceVersion: '1', labels: { [label]: 'x' } },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    ];
    assert.deepEqual(membersOf(nodes), [
      member('false', { ready: false }),
      member('unknown', { ready: false }),
      member('none', { ready: false }),
      member('held', { held: true }),
      member('raw'),
    ]);
  });
});

describe('one more node may leave', () => {
  const spare = { 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 9: 4 };
  for (const [count, most] of Object.entries(spare)) {
    test(`as long as no more than ${most} of ${count} are out`, () => {
      const all = members(Number(count));
      const [asked = member(''), ...others] = all;
      for (let out = 0; out < all.length; out += 1) {
        const wanted = new Set(others.slice(0, out).map(({ name }) => name));
        assert.equal(
          quorumAllows(asked.name, all, wanted).allowed,
          out + 1 <= most,
          `${out} are out`,
        );
      }
    });
  }

  test('counting those that are held or not Ready as well, each once', () => {
    const all = [
      member('a'),
      member('b', { held: true }),
      member('c', { ready: false }),
      member('d'),
      member('e'),
    ];
    assert.equal(quorumAllows('a', all, new Set()).allowed, false);
    const thrice = [
      member('a'),
      member('b', { held: true, ready: false }),
      member('c'),
      member('d'),
      member('e'),
    ];
    assert.equal(quorumAllows('a', thrice, new Set(['b'])).allowed, true);
  });

  test('when it is out already and not Ready: that changes nothing', () => {
    const all = [member('a', { ready: false }), member('b', { ready: false }), member('c')];
    assert.deepEqual(quorumAllows('a', all, new Set(['c'])), { allowed: true });
  });

  test('when it is no member', () => {
    assert.deepEqual(quorumAllows('worker', members(1), new Set(['cp-0'])), { allowed: true });
  });

  test('whatever other maintenances want the same node', () => {
    assert.deepEqual(
      quorumAllows(
        'cp-0',
        [member('cp-0', { held: true }), member('cp-1'), member('cp-2')],
        new Set(['cp-0']),
      ),
      {
        allowed: true,
      },
    );
  });
});

describe('a no', () => {
  const no = (asked: string, all: readonly Member[], wanted: readonly string[] = []): string => {
    const leave = quorumAllows(asked, all, new Set(wanted));
    assert.ok(!leave.allowed);
    assert.equal(leave.message, `${quorumMessage(asked)}: ${leave.why}`);
    return leave.why;
  };

  test('begins with the words of the contract', () => {
    assert.equal(
      quorumMessage('n1'),
      'can not put master/control-plane node into maintenance at this moment, disrupting node n1 will violate etcd quorum',
    );
  });

  test('says who is out, and what overrides it', () => {
    assert.equal(
      no('cp-0', members(5), ['cp-3', 'cp-1', 'worker']),
      `3 of 5 control-plane nodes must stay; out of service or about to be: cp-1, cp-3; ${overridden}`,
    );
  });

  test('says of one and of two that none can be spared', () => {
    assert.equal(
      no('cp-0', members(1)),
      `the only control-plane node cannot be spared; ${overridden}`,
    );
    assert.equal(
      no('cp-0', members(2)),
      `of 2 control-plane nodes none can be spared; ${overridden}`,
    );
  });

  test('names ten of many', () => {
    const all = members(41);
    const why = no('cp-40', all, all.map(({ name }) => name).slice(0, 20));
    assert.match(why, /^21 of 41 .*: (cp-\d+, ){9}cp-\d+ and 10 more; /);
  });
});

test('the loss of quorum is taken upon oneself with the value "true" alone', () => {
  assert.equal(allowQuorumLossAnnotation, 'drydock.dev/allow-quorum-loss');
  assert.equal(mayLoseQuorum({ [allowQuorumLossAnnotation]: 'true' }), true);
  for (const annotations of [
    undefined,
    {},
    { [allowQuorumLossAnnotation]: 'false' },
    { [allowQuorumLossAnnotation]: '' },
  ]) {
    assert.equal(mayLoseQuorum(annotations), false);
  }
});

test('law: in whatever order nodes are asked for, fail and come back, a yes never leaves fewer than a quorum', () => {
  const step = fc.record({
    index: fc.nat(8),
    what: fc.constantFrom('ask', 'ask', 'ask', 'fail', 'recover', 'release', 'hold'),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(step, { maxLength: 40 }),
      (count, steps) => {
        const all = members(count).map(one => ({ ...one }));
        const wanted = new Set<string>();
        const staying = (): number =>
          all.filter(({ name, ready, held }) => ready && !held && !wanted.has(name)).length;
        for (const { index, what } of steps) {
          const one = all[index % count];
          if (one === undefined) continue;
          if (what === 'fail') one.ready = false;
          else if (what === 'recover') one.ready = true;
          else if (what === 'release') wanted.delete(one.name);
          else if (what === 'hold') one.held = wanted.has(one.name);
          else if (quorumAllows(one.name, all, wanted).allowed) {
            const before = staying();
            wanted.add(one.name);
            assert.ok(
              staying() === before || staying() >= Math.floor(count / 2) + 1,
              `${staying()} of ${count} stay`,
            );
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

describe('a node that the quorum cannot spare', () => {
  const refused = (count: number) => {
    const leave = quorumAllows('cp-0', members(count), new Set());
    assert.ok(!leave.allowed);
    return leave;
  };

  test('may go with a warning on plain clusters: alone, or where its kind keeps the quorum on OpenShift only', () => {
    const rows: readonly (readonly [
      number,
      Parameters<typeof isWarnedOnly>[1],
      boolean,
      boolean,
    ])[] = [
      [1, 'everywhere', false, true],
      [2, 'everywhere', false, false],
      [1, 'on OpenShift', false, true],
      [2, 'on OpenShift', false, true],
      [1, 'everywhere', true, false],
      [2, 'on OpenShift', true, false],
    ];
    for (const [count, rule, openShift, warned] of rows) {
      assert.equal(
        isWarnedOnly(refused(count), rule, openShift),
        warned,
        `${count} ${rule} ${openShift}`,
      );
    }
  });

  test('is told what is at stake: everything where it is the only one, the quorum of etcd where there are more', () => {
    assert.match(refused(1).stake, /^cp-0 is the only control-plane node/);
    assert.match(refused(2).stake, /^cp-0 is one of 2 control-plane nodes, of which 2 must stay/);
  });
});
