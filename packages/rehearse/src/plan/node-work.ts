import type { JsonObject } from '@drydock/apimachinery';
import { isUndone, partsInForce, planAnnotation } from '@drydock/core/plan';
import { at, objects, part, type Stored, strings, text } from '@drydock/kube-sim';
import { phaseOf, type Written, writesOn } from '@drydock/kube-sim/controllers';
import { PlannedMaintenanceError } from '../simulate/run.ts';
import type { Sandbox } from '../simulate/sandbox.ts';
import { type RunSoFar, stuckAs } from './run-so-far.ts';

/** Annotation of a node in a rehearsal: the plan's work on it is done. */
const workedAnnotation = 'drydock.dev/rehearsed';

const isWorked = `has(node.metadata.annotations) && '${workedAnnotation}' in node.metadata.annotations`;

/**
 * The simulated form of a MaintenancePlan: the same plan, with conditions that only the real
 * cluster can check taken as met.
 */
export type SimulatedPlan = {
  readonly name: string;
  readonly object: JsonObject;
  /** Differences from the real plan: sentences. */
  readonly notes: readonly string[];
  readonly work: 'job' | 'reboot' | 'external' | 'none';
  /** Whether the work restarts the nodes. */
  readonly reboots: boolean;
};

const works = ['job', 'reboot', 'external', 'none'] as const;

function workOf(inForce: JsonObject, name: string): (typeof works)[number] {
  const work = part(inForce, 'work');
  const found = works.find(one => work[one] !== undefined);
  if (found !== undefined) return found;
  const why =
    work['replace'] === undefined
      ? 'it has no spec.work'
      : 'it replaces machines, and a rehearsal does not simulate machines';
  throw new PlannedMaintenanceError(`plan ${name} cannot be rehearsed: ${why}`);
}

/** Returns the gates about workloads: the pods of the copy are all that a gate can check. */
function playedGates(plan: JsonObject): readonly JsonObject[] {
  return objects(at(plan, 'spec', 'gates')).filter(one => one['workloads'] !== undefined);
}

function notesOf(plan: JsonObject, reboots: boolean): readonly string[] {
  const gates = objects(at(plan, 'spec', 'gates')).length - playedGates(plan).length;
  const asks =
    text(plan, 'spec', 'approval', 'run') === 'Required' ||
    objects(at(plan, 'spec', 'stages')).some(one => one['approveAfter'] === true);
  const isPaused = text(plan, 'spec', 'state') === 'Paused';
  return [
    `the work ends well on every node${reboots ? ', and every node comes back' : ''}`,
    ...(gates > 0
      ? [
          `${gates === 1 ? 'a gate is' : `${gates} gates are`} taken for true: only those about workloads can be played`,
        ]
      : []),
    ...(asks ? ['approvals are given at once'] : []),
    ...(isPaused ? ['the plan is paused: it is played as if it were not'] : []),
  ];
}

/**
 * Returns `due` and `done` by the annotation of finished work; nodes that are due now are so by the
 * plan's own expression.
 */
function proven(inForce: JsonObject): JsonObject {
  const due = text(inForce, 'due', 'expression');
  return {
    ...(due !== '' && {
      due: { ...part(inForce, 'due'), expression: `(${due}\n) && !(${isWorked})` },
    }),
    done: { ...part(inForce, 'done'), expression: isWorked },
  };
}

function playedWork(inForce: JsonObject, work: SimulatedPlan['work']): JsonObject {
  const given = part(inForce, 'work', work);
  // No image is pulled here: any name will do.
  if (work === 'reboot') return { reboot: { image: 'drydock', ...given } };
  return { [work]: work === 'external' ? { ...given, finished: { expression: isWorked } } : given };
}

/**
 * Converts a MaintenancePlan to its simulated form. Throws a PlannedMaintenanceError with the
 * reason when that is impossible. The caller sets the durations of the work.
 */
export function playablePlan(plan: JsonObject): SimulatedPlan {
  const name = text(plan, 'metadata', 'name');
  const inForce = partsInForce(part(plan, 'spec'));
  const work = workOf(inForce, name);
  const reboots =
    text(inForce, 'done', 'rebooted') === 'Required' ||
    work === 'reboot' ||
    at(inForce, 'work', 'job', 'rebootsNode') === true;
  const {
    gates: _gates,
    state: _state,
    pause: _pause,
    runID: _runId,
    rehearse: _rehearse,
    ...spec
  } = part(plan, 'spec');
  const gates = playedGates(plan);
  const played = { ...inForce, ...proven(inForce), work: playedWork(inForce, work) };
  return {
    name,
    work,
    reboots,
    notes: notesOf(plan, reboots),
    object: {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenancePlan',
      metadata: { name },
      spec: {
        ...spec,
        ...(isUndone(spec) ? { rollback: played } : played),
        ...(gates.length > 0 && { gates: [...gates] }),
      },
    },
  };
}

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
