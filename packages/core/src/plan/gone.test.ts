import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../node/node.ts';
import { at } from '../testing/make.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeWorkPod,
} from '../testing/make-plan.ts';
import { playDrains } from '../testing/node-life.ts';
import { PlanWorld } from '../testing/plan-world.ts';
import { stepOf } from './advance.ts';
import { type InFlight, nodeStates } from './in-flight.ts';
import { begunWork, type Plan, type Work } from './plan.ts';
import type { WorkPod } from './snapshot.ts';

/**
 * A node in flight whose Node object is deleted: what was begun on it has failed, and what comes
 * back under its name has no more turns than it should.
 */

/** Seconds that pass, each with a look at the plan and drains that end at once. */
function turns(world: PlanWorld, times: number): void {
  for (let count = 0; count < times; count += 1) {
    world.seconds += 1;
    world.pass('kernel');
    playDrains(world);
  }
}

const job: Work = {
  kind: 'job',
  podSpec: {},
  rebootsNode: false,
  timeoutSeconds: 100,
  attempts: 1,
};
const boots: Work = { ...job, rebootsNode: true };

type Given = {
  readonly work?: Work;
  readonly one?: Partial<InFlight>;
  readonly plan?: Partial<Plan>;
  readonly again?: Partial<Node>;
  readonly pods?: readonly WorkPod[];
  readonly refusals?: ReadonlyMap<string, string>;
};

function to({
  work = job,
  one = {},
  plan = {},
  again,
  pods = [],
  refusals = new Map(),
}: Given): string {
  const full = makePlan({ work, ...plan });
  const slot = makeInFlight('n1', { attempt: 1, work: begunWork(work), ...one });
  const nodes =
    again === undefined
      ? []
      : [makePlanNode(makeReadyNode('n1', { uid: 'uid-again', bootId: 'next', ...again }))];
  const snapshot = makePlanSnapshot({
    plan: full,
    nodes,
    pods: new Map(pods.map(pod => [pod.name, pod])),
    refusals,
  });
  const step = stepOf(snapshot, slot, { withdrawn: false }, at(0));
  const { outcome, state, uid } = step.slot ?? {};
  const what = outcome === undefined ? state : `${outcome.verdict}${outcome.held ? ' held' : ''}`;
  return [
    what,
    ...(uid === slot.uid ? [] : [uid]),
    ...(step.writes ?? []).map(({ method }) => method),
  ].join(', ');
}

describe('a node in flight that is deleted', () => {
  const begunStates: Readonly<
    Record<(typeof nodeStates)[number], readonly [Partial<InFlight>, string]>
  > = {
    Starting: [{}, 'Gone'],
    Holding: [{}, 'Gone'],
    Working: [{ pod: 'p' }, 'Failed'],
    Rebooting: [{ pod: 'p' }, 'Failed'],
    Verifying: [{ pod: 'p' }, 'Failed'],
    Soaking: [{ pod: 'p' }, 'Failed'],
    Releasing: [
      { outcome: { verdict: 'Done', state: 'Soaking', message: 'Done', held: false } },
      'Done, POST',
    ],
  };
  for (const state of nodeStates) {
    const [one, wanted] = begunStates[state];
    test(`while it is ${state}: ${wanted}`, () =>
      assert.equal(to({ one: { state, ...one } }).replace('PATCH', 'POST'), wanted));
  }

  test('has failed as soon as something may have been done to it', () => {
    assert.equal(to({ one: { state: 'Working' } }), 'Gone', 'its pod has no name yet');
    assert.equal(
      to({ one: { state: 'Working', pod: 'p' } }),
      'Failed',
      'its pod may have been made, have run, and be gone',
    );
    assert.equal(
      to({
        one: { state: 'Working', pod: 'p' },
        refusals: new Map([['n1', 'a policy denies it']]),
      }),
      'Gone',
      'it was refused',
    );
    const pod = makeWorkPod('p', 'n1', { uid: 'u', phase: 'Pending' });
    const seen = { state: 'Working', pod: 'p', podUid: 'u' } as const;
    assert.equal(to({ one: seen, pods: [pod] }), 'Gone', 'it pulls its image');
    assert.equal(
      to({ one: seen, pods: [{ ...pod, phase: 'Failed', ran: false }] }),
      'Gone',
      'it was turned away',
    );
    assert.equal(to({ one: seen, pods: [{ ...pod, phase: 'Running', ran: true }] }), 'Failed');
    assert.equal(
      to({ one: seen, pods: [{ ...pod, uid: 'another' }] }),
      'Failed',
      'it is gone as well, and may have run',
    );
    assert.equal(to({ one: { ...seen, ranAttempt: 1 }, pods: [pod] }), 'Failed');
    assert.equal(to({ one: { state: 'Working', attempt: 2 } }), 'Gone', 'no attempt has run');
    assert.equal(
      to({ one: { state: 'Working', attempt: 2, ranAttempt: 1 } }),
      'Failed',
      'the attempt before',
    );
    assert.equal(
      to({ work: { kind: 'none' }, one: { state: 'Soaking' } }),
      'Gone',
      'nothing is done by that plan',
    );
  });

  test('in the quiet time after its release has failed; after that it was done', () => {
    const outcome = { verdict: 'Done', state: 'Soaking', message: 'Done', held: false } as const;
    const plan = { soakAfterReleaseSeconds: 60 };
    assert.equal(to({ one: { state: 'Releasing', outcome, soakSince: at(-59) }, plan }), 'Failed');
    assert.equal(to({ one: { state: 'Releasing', outcome }, plan }), 'Failed');
    assert.equal(
      to({ one: { state: 'Releasing', outcome, soakSince: at(-60) }, plan }).split(',')[0],
      'Done',
    );
    assert.equal(
      to({ one: { state: 'Releasing', outcome: { ...outcome, verdict: 'Failed' } }, plan }).split(
        ',',
      )[0],
      'Failed',
    );
  });
});

describe('a machine that somebody else installs anew', () => {
  const external: Work = { kind: 'external', annotations: {}, timeoutSeconds: 100 };
  const away: Given = {
    work: external,
    one: { state: 'Working', bootIdBefore: 'n1-boot-1', providerId: 'metal://1' },
  };

  test('is awaited under its name until the limit of the work, and its turn goes on with the new object', () => {
    assert.equal(to(away), 'Working');
    assert.equal(to({ ...away, one: { ...away.one, since: at(-100) } }), 'Failed');
    assert.equal(to({ ...away, again: { providerId: 'metal://1' } }), 'Working, uid-again');
    assert.equal(
      to({ ...away, again: {} }),
      'Working, uid-again',
      'it has no name in the cloud yet',
    );
    assert.equal(
      to({ ...away, one: { ...away.one, since: at(-100) }, again: { providerId: 'metal://1' } }),
      'Failed',
    );
  });

  test('is another one where its name in the cloud differs', () =>
    assert.equal(to({ ...away, again: { providerId: 'metal://2' } }), 'Failed'));

  test('may be taken away after the tool has ended, where its boot is still to come', () => {
    const late = { ...away, one: { ...away.one, state: 'Verifying' } } as const;
    assert.equal(to(late), 'Failed');
    const plan = { rebooted: 'Required', provenWithinSeconds: 90 } as const;
    assert.equal(to({ ...late, plan, again: {} }), 'Verifying, uid-again');
    assert.equal(to({ ...late, plan, again: {}, one: { ...late.one, since: at(-90) } }), 'Failed');
  });

  for (const [work, what] of [
    [external, 'reinstalls it'],
    [boots, 'boots it'],
  ] as const) {
    test(`is held, with the Maintenance that it had, while the work ${what}, and is done when it is proven`, () => {
      const world = new PlanWorld();
      const [first] = [makeReadyNode('n1', { providerId: 'metal://1' })];
      world.nodes.set('n1', first);
      world.plans.set(
        'kernel',
        makePlan({ work, soakSeconds: 5, ...(work === boots && { rebooted: 'Required' }) }),
      );
      const turn = (times = 6): void => turns(world, times);
      turn();
      for (const { name } of world.pods.values()) world.setPod(name, { phase: 'Running' });
      turn();
      const [child] = [...world.children.values()];
      world.nodes.delete('n1');
      turn();
      world.pods.clear();
      const { holdRecord: _record, ...free } = first;
      world.nodes.set('n1', { ...free, uid: 'uid-again', bootId: 'next', unschedulable: false });
      world.pass('kernel');
      playDrains(world);
      assert.deepEqual(
        [...world.children.keys()],
        [child?.name],
        'whoever works for it is not asked twice',
      );
      assert.equal(world.nodes.get('n1')?.unschedulable, true);
      world.finished.add('n1');
      turn(3);
      assert.equal(world.plans.get('kernel')?.inFlight[0]?.state, 'Soaking');
      turn();
      const [verdict] = [...world.slices.values()].flatMap(({ verdicts }) => verdicts);
      assert.deepEqual(
        [verdict?.uid, verdict?.verdict, verdict?.message],
        ['uid-again', 'Done', 'Done'],
      );
      assert.deepEqual([world.children.size, world.nodes.get('n1')?.unschedulable], [0, false]);
    });
  }

  test('stays held when it is not right after all, until its failure is set aside', () => {
    const world = new PlanWorld();
    world.nodes.set('n1', makeReadyNode('n1'));
    world.plans.set(
      'kernel',
      makePlan({ work: external, provenWithinSeconds: 3, expressions: { due: 'is it old' } }),
    );
    world.expressions.set('kernel', { due: () => true });
    const turn = (times = 8): void => turns(world, times);
    turn();
    world.nodes.set('n1', makeReadyNode('n1', { uid: 'uid-again' }));
    turn();
    world.finished.add('n1');
    turn();
    const [verdict] = [...world.slices.values()].flatMap(({ verdicts }) => verdicts);
    assert.deepEqual(
      [verdict?.uid, verdict?.verdict, verdict?.held],
      ['uid-again', 'Failed', true],
    );
    assert.deepEqual(
      [world.children.size, world.nodes.get('n1')?.unschedulable],
      [1, true],
      'for somebody to look at',
    );
    world.edit('kernel', { retries: new Map([['n1', world.now]]) });
    turn(1);
    assert.deepEqual(
      [world.plans.get('kernel')?.inFlight[0]?.node, world.children.size <= 2],
      ['n1', true],
    );
  });
});

describe('a machine that loses its Node object while it reboots', () => {
  const down: Given = {
    work: boots,
    one: { state: 'Rebooting', bootIdBefore: 'n1-boot-1', pod: 'p', podUid: 'u' },
  };

  test('is awaited under its name until its limit, and its turn goes on with the new object', () => {
    assert.equal(to(down), 'Rebooting');
    assert.equal(to({ ...down, one: { ...down.one, since: at(-100) } }), 'Failed');
    assert.equal(to({ ...down, again: {} }), 'Rebooting, uid-again');
    assert.equal(
      to({ ...down, one: { ...down.one, state: 'Working' }, again: {} }),
      'Rebooting, uid-again',
    );
    assert.equal(
      to({ ...down, one: { ...down.one, state: 'Verifying' }, again: {} }),
      'Failed',
      'it had booted',
    );
    assert.equal(to({ ...down, work: job, again: {} }), 'Failed', 'that work boots nothing');
  });

  test('is another one where both have a name in the cloud, and the names differ', () => {
    const known = { ...down, one: { ...down.one, providerId: 'aws:///a/i-1' } };
    assert.equal(to({ ...known, again: { providerId: 'aws:///a/i-2' } }), 'Failed');
    assert.equal(to({ ...known, again: { providerId: 'aws:///a/i-1' } }), 'Rebooting, uid-again');
  });

  test('loses the pod of the work first', () => {
    const pod = makeWorkPod('p', 'n1', { uid: 'u', phase: 'Failed' });
    assert.equal(to({ ...down, again: {}, pods: [pod] }), 'Rebooting, DELETE');
    assert.equal(to({ ...down, again: {}, pods: [{ ...pod, deleting: true }] }), 'Rebooting');
  });
});

/**
 * Nodes whose work breaks them, or boots them, and somebody who deletes and makes them again: what
 * becomes of the plan in so many seconds.
 */
class Repairs {
  readonly world = new PlanWorld();
  /** By name: pods that have worked on it. */
  readonly worked = new Map<string, number>();
  #births = 0;

  constructor(plan: Partial<Plan>, many = 4) {
    for (let index = 1; index <= many; index += 1) this.#born(`n${index}`);
    const { run: _run, ...fresh } = makePlan({ controlPlane: 'AsSelected', ...plan });
    this.world.plans.set('kernel', fresh);
  }

  #born(name: string): void {
    this.#births += 1;
    this.world.nodes.set(
      name,
      makeReadyNode(name, { uid: `uid-${name}-${this.#births}`, bootId: `boot-${this.#births}` }),
    );
  }

  /** `repair`: what comes in the place of the node that is worked on. */
  live(turns: number, isRepaired: (name: string) => boolean): void {
    const { world } = this;
    for (let turn = 0; turn < turns; turn += 1) {
      world.pass('kernel');
      world.seconds += 1;
      playDrains(world);
      for (const pod of Array.from(world.pods.values())) {
        if (pod.phase === 'Pending') {
          this.worked.set(pod.nodeName, (this.worked.get(pod.nodeName) ?? 0) + 1);
          world.setPod(pod.name, { phase: 'Running' });
        } else if (pod.phase === 'Running' && isRepaired(pod.nodeName)) {
          this.#born(pod.nodeName);
          world.pods.delete(pod.name);
        }
      }
    }
  }

  get most(): number {
    return Math.max(...this.worked.values());
  }
}

function all() {
  return true;
}
const isOld = { expressions: { due: 'is it old' }, work: job } as const;

describe('nodes that come back under their names', () => {
  test('work that breaks nodes, which somebody repairs, halts the plan after the first', () => {
    const repairs = new Repairs({ ...isOld, halt: { maxFailures: 0, consecutive: 1 } });
    repairs.live(200, all);
    const decision = repairs.world.pass('kernel');
    assert.deepEqual(
      [decision?.phase, decision?.counts.failed, [...repairs.worked]],
      ['Halted', 1, [['n1', 1]]],
    );
  });

  test('no name has turns without an end, whatever failures are allowed', () => {
    const repairs = new Repairs({ ...isOld, halt: {} });
    repairs.live(400, all);
    const decision = repairs.world.pass('kernel');
    assert.deepEqual(
      [repairs.most, decision?.phase, decision?.counts.failed, decision?.counts.dueAgain],
      [2, 'Complete', 8, 0],
    );
    assert.ok([...repairs.world.slices.values()].length <= 2, 'records do not grow either');
    repairs.live(100, all);
    assert.equal(repairs.most, 2);
  });

  test('that nothing was done to leave no records behind', () => {
    for (const isHalted of [false, true]) {
      const world = new PlanWorld();
      world.plans.set('kernel', makePlan(isOld));
      const words: string[] = [];
      const pass = (times: number): void => {
        for (let turn = 0; turn < times; turn += 1) {
          world.seconds += 1;
          world.pass('kernel');
        }
      };
      for (let birth = 0; birth < 20; birth += 1) {
        world.nodes.set('n1', makeReadyNode('n1', { uid: `uid-${birth}` }));
        pass(4);
        if (isHalted) world.halted = 'power is low';
        pass(1);
        world.children.clear();
        if (!isHalted) world.nodes.delete('n1');
        pass(3);
        world.halted = undefined;
        world.nodes.delete('n1');
        words.push(
          [...world.slices.values()]
            .map(({ verdicts }) => verdicts.map(({ uid, verdict }) => `${uid} ${verdict}`).join())
            .join(),
        );
      }
      assert.deepEqual(
        words,
        Array.from({ length: 20 }, (_, birth) => `uid-${birth} ${isHalted ? 'Requeued' : 'Gone'}`),
      );
    }
  });

  test('whose drains fail have no turns without an end either', () => {
    const world = new PlanWorld();
    world.plans.set('kernel', makePlan({ ...isOld, drainStuck: { afterSeconds: 5, times: 0 } }));
    for (let birth = 0; birth < 20; birth += 1) {
      world.nodes.set('n1', makeReadyNode('n1', { uid: `uid-${birth}` }));
      for (let turn = 0; turn < 20; turn += 1) {
        world.seconds += 1;
        world.pass('kernel');
        for (const [name, { deleting }] of world.children)
          if (deleting) world.children.delete(name);
      }
      world.nodes.delete('n1');
    }
    const failed = world.pass('kernel')?.counts.failed ?? 0;
    assert.ok(failed > 1 && failed <= 4, `${failed} failures`);
    assert.equal(world.slices.size, failed);
  });

  test('each node boots once a run, though the cloud deletes its Node object while it is off', () => {
    const repairs = new Repairs({ work: boots, rebooted: 'Required', halt: { maxFailures: 0 } });
    repairs.live(200, all);
    const decision = repairs.world.pass('kernel');
    assert.deepEqual(
      [decision?.phase, decision?.counts.done, decision?.counts.failed, repairs.most],
      ['Complete', 4, 0, 1],
    );
  });

  test('a plan that takes each node once a run takes each name once', () => {
    const repairs = new Repairs({ work: job, halt: {} });
    repairs.live(200, all);
    assert.deepEqual([repairs.most, repairs.world.pass('kernel')?.counts.failed], [1, 4]);
  });
});
