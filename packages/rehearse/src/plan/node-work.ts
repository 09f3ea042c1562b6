import type { JsonObject } from '@drydock/apimachinery';
import { planAnnotation } from '@drydock/core/plan';
import { at, objects, part, type Stored, strings, text } from '@drydock/kube-sim';
import type { Written } from '@drydock/kube-sim/controllers';
import { phaseOf, writesOn } from '@drydock/kube-sim/controllers';
import type { Sandbox } from '../simulate/sandbox.ts';
import { type SimulatedPlan, workedAnnotation } from './playable-plan.ts';
import { type RunSoFar, stuckAs } from './run-so-far.ts';

/** Durations on a node, in milliseconds. */
export type WorkTimes = {
  /** Duration from the start of the work to its end, or to the shutdown of the node. */
  readonly workMs: number;
  readonly rebootMs: number;
  /** Number of nodes of earlier runs from which the durations were learned. */
  readonly learnedFrom?: { readonly work: number; readonly reboots: number };
  /** Duration of pods that prepare nodes, and of those of hooks. */
  readonly besideMs: number;
};

function isOfHook(pod: Stored): boolean {
  return objects(at(pod, 'spec', 'containers')).some(container =>
    objects(container['env']).some(({ name }) => name === 'DRYDOCK_HOOK'),
  );
}

function isBeside(pod: Stored): boolean {
  return pod.metadata.name.endsWith('-ready') || isOfHook(pod);
}

function endedStatus(pod: Stored, time: string): JsonObject {
  return {
    ...part(pod, 'status'),
    phase: 'Succeeded',
    containerStatuses: objects(at(pod, 'spec', 'containers')).map(({ name = '' }) => ({
      name,
      image: '',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: 'Completed', finishedAt: time } },
    })),
  };
}

/**
 * Simulates a plan's work on its nodes, and the other pods of the plan: all succeed after the given
 * durations. Only pods that cannot start in the cluster do not start here either, with the same
 * reason.
 */
export class NodeWork {
  readonly #sandbox: Sandbox;
  readonly #plan: SimulatedPlan;
  readonly #times: WorkTimes;
  readonly #soFar: RunSoFar;
  readonly #seen = new Set<string>();
  readonly #unsubscribes: readonly (() => void)[];
  #boots = 0;

  constructor(sandbox: Sandbox, plan: SimulatedPlan, times: WorkTimes, soFar: RunSoFar) {
    this.#sandbox = sandbox;
    this.#plan = plan;
    this.#times = times;
    this.#soFar = soFar;
    const { store } = sandbox.cluster.registry;
    this.#unsubscribes = [
      store.subscribe(({ type, object }) => type !== 'removed' && this.#podSeen(object), 'pods'),
      store.subscribe(
        ({ type, object }) => type !== 'removed' && this.#planSeen(object),
        'maintenanceplans.drydock.dev',
      ),
    ];
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
  }

  #once(key: string, afterMs: number, act: () => void): void {
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#sandbox.clock.after(afterMs, act);
  }

  #podSeen(pod: Stored): void {
    const { uid, namespace = '', name, annotations } = pod.metadata;
    if (strings(annotations)[planAnnotation] !== this.#plan.name) return;
    if (phaseOf(pod) === 'Pending') return this.#pending(pod);
    if (phaseOf(pod) !== 'Running') return;
    const beside = isBeside(pod);
    this.#once(uid, beside ? this.#times.besideMs : this.#times.workMs, () => {
      const current = this.#store.get('pods', namespace, name);
      if (current === undefined || current.metadata.uid !== uid) return;
      this.#written(
        this.#writes.update(
          'pods',
          { ...current, status: endedStatus(current, this.#now()) },
          'status',
        ),
      );
      if (!beside) this.#worked(text(current, 'spec', 'nodeName'));
    });
  }

  #pending(pod: Stored): void {
    const status = stuckAs(this.#soFar, this.#plan.name, pod);
    if (status === undefined) return;
    const { uid, namespace = '', name } = pod.metadata;
    this.#once(`stuck ${uid}`, 0, () => {
      const current = this.#store.get('pods', namespace, name);
      if (current?.metadata.uid === uid)
        this.#written(this.#writes.update('pods', { ...current, status }, 'status'));
    });
  }

  /** Reads the start of work without a pod from the plan's status. */
  #planSeen(plan: Stored): void {
    const { work } = this.#plan;
    if (work === 'job' || work === 'reboot') return;
    for (const one of objects(at(plan, 'status', 'inFlight'))) {
      if (!['Working', 'Verifying'].includes(text(one, 'state'))) continue;
      const key = `${text(one, 'nodeUID')} ${text(one, 'startTime')}`;
      this.#once(key, work === 'none' ? 0 : this.#times.workMs, () =>
        this.#worked(text(one, 'node')),
      );
    }
  }

  #worked(node: string): void {
    const { reboots } = this.#plan;
    this.#changeNode(node, found => ({
      ...found,
      metadata: {
        ...found.metadata,
        annotations: { ...strings(found.metadata.annotations), [workedAnnotation]: 'true' },
      },
    }));
    if (!reboots) return;
    this.#ready(node, false);
    this.#sandbox.clock.after(this.#times.rebootMs, () => this.#ready(node, true));
  }

  /** A node that is ready again has booted. */
  #ready(name: string, ready: boolean): void {
    this.#boots += 1;
    const boot = ready ? { bootID: `rehearsed-${this.#boots}` } : {};
    this.#changeNode(
      name,
      node => ({
        ...node,
        status: {
          ...part(node, 'status'),
          nodeInfo: { ...part(node, 'status', 'nodeInfo'), ...boot },
          conditions: objects(at(node, 'status', 'conditions')).map(one =>
            one['type'] === 'Ready'
              ? { ...one, status: ready ? 'True' : 'False', lastTransitionTime: this.#now() }
              : one,
          ),
        },
      }),
      'status',
    );
  }

  #changeNode(name: string, change: (node: Stored) => JsonObject, subresource?: 'status'): void {
    const node = this.#store.get('nodes', '', name);
    if (node !== undefined) this.#written(this.#writes.update('nodes', change(node), subresource));
  }

  #written(written: Written): void {
    if (written.kind === 'refused')
      throw new Error(`a rehearsal could not play the work: ${written.message}`);
  }

  #now(): string {
    return this.#sandbox.clock.now().toString({ smallestUnit: 'second' });
  }

  get #store() {
    return this.#sandbox.cluster.registry.store;
  }

  get #writes() {
    return writesOn(this.#sandbox.cluster.registry);
  }
}
