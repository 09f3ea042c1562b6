import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Node } from '../../node/node.ts';
import { at } from '../../testing/make.ts';
import { makePlan } from '../../testing/make-plan.ts';
import { NodeLife } from '../../testing/node-life.ts';
import { PlanWorld } from '../../testing/plan-world.ts';
import { isAtWork } from '../in-flight.ts';
import type { Plan } from '../plan.ts';
import type { WorkPod } from '../snapshot.ts';

/**
 * Random nodes, boots, pods, clocks, and operators that were away. No node is given back, retried
 * or forgotten with a pod of the work on it; nothing is proven by a boot before the pod has run; no
 * soak time passes unwatched.
 */

const soakSeconds = 20;
const names = ['n1', 'n2', 'n3'];
function isOver({ phase }: WorkPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

type Step = {
  readonly what:
    | 'time'
    | 'look'
    | 'run'
    | 'turn away'
    | 'succeed'
    | 'fail'
    | 'end deleted'
    | 'boot'
    | 'boot, told late'
    | 'down'
    | 'up'
    | 'unregister'
    | 'register'
    | 'release'
    | 'delete pod'
    | 'retry'
    | 'edit'
    | 'halt'
    | 'skip'
    | 'abort'
    | 'delete plan'
    | 'another process';
  readonly node: string;
  readonly seconds: number;
};

/** What is true, whoever has seen it. */
class Truth {
  readonly world = new PlanWorld();
  readonly life = new NodeLife(this.world, names);
  /** When each node was last not as it should be, or nobody watched. */
  readonly unwellAt = new Map<string, number>();
  /** When a container of the pod began, and when the node booted last after that, by node. */
  readonly ranAt = new Map<string, number>();
  readonly bootedAfter = new Map<string, number>();
  readonly #dead = new Set<string>();
  /** Nodes whose Maintenance a person has deleted. */
  readonly #given = new Set<string>();
  /**
   * Node objects that are gone, and since when; and the names of those that kubelets have just made
   * anew.
   */
  readonly #gone = new Map<string, { readonly before: Node; readonly since: number }>();
  readonly #registered = new Set<string>();
  #clockIsOff = 0;
  #process = 1;

  constructor(over: Partial<Plan>) {
    const { world } = this;
    world.plans.set('kernel', makePlan({ soakSeconds, provenWithinSeconds: 60, ...over }));
    world.expressions.set('kernel', { due: () => true, done: () => true });
  }

  /** The operator looks, by its own clock. */
  look(): void {
    const { world } = this;
    for (let turn = 0; turn < 4; turn += 1) {
      const before = world.plans.get('kernel');
      const runningBefore = new Map(names.map(name => [name, this.#running(name)]));
      world.seconds += this.#clockIsOff;
      world.pass('kernel');
      world.seconds -= this.#clockIsOff;
      this.#check(before, runningBefore);
      this.#drains(before);
      this.#onePod();
    }
  }

  #running(name: string): readonly WorkPod[] {
    return this.life.podsOn(name).filter(pod => !isOver(pod));
  }

  /** Makes the Node object anew, as its kubelet does; the machine has not booted. */
  #register(name: string): void {
    const { world } = this;
    const gone = this.#gone.get(name);
    if (gone === undefined) return;
    const { holdRecord: _record, ...free } = gone.before;
    world.nodes.set(name, { ...free, uid: `uid-${name}-${world.seconds}`, unschedulable: false });
    this.#gone.delete(name);
    this.#registered.add(name);
    // A pod that went with the Node object may have run: a boot that follows is its own.
    if (!this.ranAt.has(name)) this.ranAt.set(name, world.seconds);
    this.unwellAt.set(name, world.seconds);
  }

  /** Deletes the pods of a Node object that has been gone for a minute, as pod GC does. */
  #collect(): void {
    const { world, life } = this;
    for (const [name, { since }] of this.#gone)
      if (world.seconds - since >= 60)
        for (const pod of life.podsOn(name)) world.pods.delete(pod.name);
  }

  #onePod(): void {
    for (const name of names)
      assert.ok(this.#running(name).length <= 1, `${name} has two pods of the work`);
  }

  /**
   * As the loop of the nodes does it: a Maintenance that somebody has deleted waits for the work of
   * its plan.
   */
  #drains(before: Plan | undefined): void {
    const { world } = this;
    const waiting = [...world.children.values()].filter(
      ({ deleting, nodeName }) =>
        deleting &&
        world.plans.get('kernel')?.inFlight.some(one => one.node === nodeName && isAtWork(one)),
    );
    for (const { name } of waiting) world.children.delete(name);
    // What a person gives back of which the plan has nothing in flight, or begins with it only now,
    // is theirs, whatever is left on it.
    const known = new Set(before?.inFlight.map(({ node }) => node));
    const flying = new Set(
      world.plans.get('kernel')?.inFlight.flatMap(({ node }) => (known.has(node) ? node : [])),
    );
    const theirs = new Set(Array.from(this.#given).filter(name => !flying.has(name)));
    const wasHeld = new Map(
      [...world.nodes].map(([name, { unschedulable }]) => [name, unschedulable]),
    );
    this.life.drain();
    for (const child of waiting) {
      world.children.set(child.name, child);
      world.setNode(child.nodeName, { unschedulable: true, holdRecord: '{}' });
    }
    for (const [name, { unschedulable }] of world.nodes) {
      const isOpened =
        (wasHeld.get(name) === true || this.#registered.delete(name)) && !unschedulable;
      const left = this.#running(name).map(
        ({ name: pod, deleting }) => `${pod}${deleting ? ', being deleted' : ''}`,
      );
      if (isOpened) this.#given.delete(name);
      if (isOpened && !this.#dead.has(name) && !theirs.has(name))
        assert.deepEqual(left, [], `${name} is given back with a pod of the work on it`);
    }
  }

  #check(before: Plan | undefined, runningBefore: ReadonlyMap<string, readonly WorkPod[]>): void {
    const { world } = this;
    const after = world.plans.get('kernel');
    for (const { state, pod, node } of after?.inFlight ?? [])
      if (state === 'Releasing' && pod === undefined)
        assert.deepEqual(
          this.#running(node),
          [],
          `${node}: nobody else can know that a pod of the work is on it`,
        );
    for (const slot of before?.inFlight ?? []) {
      const now = after?.inFlight.find(({ uid }) => uid === slot.uid);
      const isDown = world.nodes.get(slot.node)?.conditions[0]?.status !== 'True';
      if (now === undefined) {
        const left = (runningBefore.get(slot.node) ?? []).filter(
          ({ deleting }) => !(isDown && deleting),
        );
        if (left.some(({ deleting }) => deleting))
          assert.ok(
            slot.outcome?.held === true,
            `${slot.node} is forgotten with a pod of the work on it`,
          );
        else assert.deepEqual(left, [], `${slot.node} is forgotten with a pod of the work on it`);
      }
      if (now?.outcome?.verdict === 'Done' && slot.outcome?.verdict !== 'Done')
        this.#proven(slot.node, now.outcome.message);
      if (now !== undefined && now.attempt !== slot.attempt) this.bootedAfter.delete(slot.node);
    }
  }

  #proven(name: string, message: string): void {
    const { world } = this;
    const plan = world.plans.get('kernel');
    const ran = this.ranAt.get(name);
    assert.ok(ran !== undefined, `${name} is done, and no pod has run`);
    if (plan?.rebooted === 'Required')
      assert.ok(
        this.bootedAfter.has(name),
        `${name} is done, and has not booted since its pod began`,
      );
    const watched = world.seconds - (this.unwellAt.get(name) ?? Number.NEGATIVE_INFINITY);
    if (!message.includes('somebody has released it'))
      assert.ok(
        watched >= soakSeconds - 1,
        `${name} is done, and has been watched for ${watched} s only`,
      );
  }

  play({ what, node, seconds }: Step): void {
    const { world, life } = this;
    const pod = life.podsOn(node).find(one => !isOver(one));
    const isUp = !this.#dead.has(node);
    const unwell = (): void => void this.unwellAt.set(node, world.seconds);
    switch (what) {
      case 'time':
        world.seconds += seconds;
        return this.#collect();
      case 'look':
        return this.look();
      case 'run':
        if (pod?.phase !== 'Pending' || !isUp) return;
        world.setPod(pod.name, { phase: 'Running', ranAt: world.now });
        this.ranAt.set(node, world.seconds);
        this.bootedAfter.delete(node);
        return;
      case 'turn away':
        if (pod?.phase === 'Pending')
          world.setPod(pod.name, {
            phase: 'Failed',
            ran: false,
            killed: seconds > 35,
            message: 'no room',
          });
        return;
      case 'succeed':
      case 'fail':
        if (pod?.phase === 'Running' && isUp)
          world.setPod(pod.name, {
            phase: what === 'fail' ? 'Failed' : 'Succeeded',
            message: 'its words',
          });
        return;
      case 'end deleted':
        return life.endDeleted();
      case 'boot':
      case 'boot, told late': {
        world.seconds += 1;
        const wasRunning = pod?.phase === 'Running';
        if (this.ranAt.has(node)) this.bootedAfter.set(node, world.seconds);
        this.#dead.delete(node);
        life.boot(node);
        unwell();
        if (what !== 'boot') this.look();
        if (wasRunning && world.pods.has(pod.name))
          world.setPod(pod.name, { phase: 'Failed', killed: true, message: 'exit code 255' });
        return;
      }
      case 'down':
        this.#dead.add(node);
        life.down(node);
        // The operator is there, and sees it.
        this.look();
        return unwell();
      case 'up':
        if (isUp) return;
        this.#dead.delete(node);
        life.up(node);
        return unwell();
      case 'unregister': {
        const before = world.nodes.get(node);
        if (before !== undefined) this.#gone.set(node, { before, since: world.seconds });
        world.nodes.delete(node);
        // The operator is there, and sees it before its pods are collected.
        return this.look();
      }
      case 'register':
        return this.#register(node);
      case 'release':
        for (const [name, child] of world.children)
          if (child.nodeName === node && !child.deleting) {
            world.children.set(name, { ...child, deleting: true });
            this.#given.add(node);
          }
        return;
      case 'delete pod':
        if (pod !== undefined) world.setPod(pod.name, { deleting: true });
        return;
      case 'retry':
        return world.edit('kernel', {
          retries: new Map([[node, at(world.seconds + this.#clockIsOff)]]),
        });
      case 'edit':
        return world.edit('kernel', {
          revision: world.plans.get('kernel')?.revision === 'r1' ? 'r2' : 'r1',
        });
      case 'halt':
        world.halted = world.halted === undefined ? 'power is low' : undefined;
        return;
      case 'skip':
        return world.edit('kernel', {
          skips: world.plans.get('kernel')?.skips.has(node) ? new Map() : new Map([[node, '']]),
        });
      case 'abort':
        return world.edit('kernel', { aborted: !(world.plans.get('kernel')?.aborted ?? false) });
      case 'delete plan':
        return world.edit('kernel', { deleting: true });
      case 'another process':
        this.#process += 1;
        world.watch = `w${this.#process}`;
        this.#clockIsOff = seconds - 35;
        for (const name of names) this.unwellAt.set(name, world.seconds);
    }
  }
}

const often = [
  'time',
  'time',
  'look',
  'look',
  'look',
  'run',
  'run',
  'succeed',
  'boot',
  'boot, told late',
  'end deleted',
] as const;
const seldom = [
  'turn away',
  'fail',
  'down',
  'up',
  'unregister',
  'register',
  'release',
  'delete pod',
  'retry',
  'edit',
  'halt',
  'skip',
  'another process',
] as const;

const steps = fc.array(
  fc.record({
    what: fc.constantFrom<Step['what'][]>(
      ...often,
      ...often,
      ...often,
      ...seldom,
      'abort',
      'delete plan',
    ),
    node: fc.constantFrom('n1', 'n1', 'n2', 'n3'),
    seconds: fc.integer({ min: 1, max: 70 }),
  }),
  { minLength: 20, maxLength: 90 },
);

const plans = fc.record({
  rebootsNode: fc.boolean(),
  attempts: fc.integer({ min: 1, max: 2 }),
  onFailure: fc.constantFrom('Hold' as const, 'Release' as const),
  maxInFlight: fc.integer({ min: 1, max: 3 }),
});

test('a pod of the work never outlives its right to run, a boot proves what began before it, and a soak time is watched', () => {
  const done = { count: 0, verdicts: 0 };
  fc.assert(
    fc.property(plans, steps, ({ rebootsNode, attempts, onFailure, maxInFlight }, story) => {
      const job = {
        kind: 'job',
        podSpec: { containers: [] },
        timeoutSeconds: 120,
        attempts,
        rebootsNode,
      } as const;
      const concurrency = { maxInFlight, perTopology: [], foreignCordon: 'TakeFirst' } as const;
      const truth = new Truth({
        work: job,
        onFailure,
        concurrency,
        ...(rebootsNode && { rebooted: 'Required' }),
      });
      for (const step of story) {
        truth.play(step);
        if (step.what === 'time') truth.look();
      }
      const verdicts = [...truth.world.slices.values()].flatMap(slice => slice.verdicts);
      done.count += verdicts.filter(({ verdict }) => verdict === 'Done').length;
      done.verdicts += verdicts.length;
    }),
    { numRuns: Number(process.env['DRYDOCK_TEST_STORIES'] ?? '400') },
  );
  assert.ok(
    done.count > 5 && done.verdicts > done.count,
    `stories come to verdicts of all kinds: ${done.count} of ${done.verdicts}`,
  );
});
