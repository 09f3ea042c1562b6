import type { JsonObject } from '@drydock/apimachinery';
import { isUndone, partsInForce } from '@drydock/core/plan';
import { at, objects, part, text } from '@drydock/kube-sim';
import { PlannedMaintenanceError } from '../simulate/run.ts';

/** Annotation of a node in a rehearsal: the plan's work on it is done. */
export const workedAnnotation = 'drydock.dev/rehearsed';

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
