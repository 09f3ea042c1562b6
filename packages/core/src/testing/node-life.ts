import { isDrained } from '../maintenance/decide.ts';
import type { Node } from '../node/node.ts';
import type { WorkPod } from '../plan/snapshot.ts';
import { makeReadyNode } from './make-plan.ts';
import type { PlanWorld } from './plan-world.ts';

function release({ nodes }: PlanWorld, { holdRecord: _record, ...node }: Node): void {
  void nodes.set(node.name, { ...node, unschedulable: false });
}

/** Every Maintenance holds and drains its node at once, and one that is deleted gives it back. */
export function playDrains(world: PlanWorld): void {
  const { children, nodes } = world;
  for (const [name, child] of children) {
    if (child.deleting) {
      children.delete(name);
      const isHeld = [...children.values()].some(({ nodeName }) => nodeName === child.nodeName);
      const node = nodes.get(child.nodeName);
      if (node !== undefined && !isHeld) release(world, node);
    } else if (nodes.has(child.nodeName)) {
      world.setNode(child.nodeName, { unschedulable: true, holdRecord: '{}' });
      if (!isDrained(child) && child.level === 'Drain')
        children.set(name, {
          ...child,
          history: { ...child.history, state: 'Drained' },
          status: { observedGeneration: child.generation },
        });
    }
  }
}

/**
 * What happens to the nodes of a `PlanWorld` beside its plans: drains, boots, and what kubelets do
 * with pods.
 */
export class NodeLife {
  readonly #world: PlanWorld;
  #boots = 0;

  constructor(world: PlanWorld, names: readonly string[]) {
    this.#world = world;
    world.hasKubelets = true;
    for (const name of names) world.nodes.set(name, makeReadyNode(name));
  }

  drain(): void {
    playDrains(this.#world);
  }

  /** Looks at the plan so often, with what drains do in between. */
  look(plan: string, times = 8): void {
    for (let turn = 0; turn < times; turn += 1) {
      this.#world.pass(plan);
      this.drain();
    }
  }

  /** The same, so many seconds later. */
  wait(plan: string, seconds: number): void {
    this.#world.seconds += seconds;
    this.look(plan);
  }

  boot(name: string): void {
    this.#boots += 1;
    this.#world.setNode(name, {
      bootId: `${name}-reboot-${this.#boots}`,
      conditions: [this.#ready('True')],
    });
  }

  down(name: string): void {
    this.#world.setNode(name, { conditions: [this.#ready('Unknown')] });
  }

  up(name: string): void {
    this.#world.setNode(name, { conditions: [this.#ready('True')] });
  }

  #ready(status: string): Node['conditions'][number] {
    return {
      type: 'Ready',
      status,
      reason: '',
      message: '',
      lastTransitionTime: this.#world.now.toString(),
    };
  }

  podsOn(name: string): readonly WorkPod[] {
    return [...this.#world.pods.values()].filter(({ nodeName }) => nodeName === name);
  }

  /** The pod on the node, which is the only one. */
  podOn(name: string): WorkPod {
    const [pod, ...others] = this.podsOn(name);
    if (pod === undefined || others.length > 0)
      throw new Error(`${others.length === 0 ? 'no pod' : 'more than one pod'} on ${name}`);
    return pod;
  }

  /** Kubelets have ended what is being deleted. */
  endDeleted(): void {
    for (const { name, deleting } of Array.from(this.#world.pods.values()))
      if (deleting) this.#world.pods.delete(name);
  }
}
