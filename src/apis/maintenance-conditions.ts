import { fewOf, needsHelp } from '../core/drain/blocker.ts';
import type { Report } from '../core/maintenance/report.ts';
import { timeText } from '../core/time.ts';
import type { MaintenanceStatus } from './schema/maintenance.ts';

/** metav1.Condition, without what is the same for all. */
type Said = {
  readonly type: 'NodeHeld' | 'Drained' | 'Failed';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
};

type Condition = NonNullable<MaintenanceStatus['conditions']>[number];

const held = (report: Report): Said => {
  const { problem } = report;
  if (report.held)
    return {
      type: 'NodeHeld',
      status: 'True',
      reason: problem?.reason ?? 'Held',
      message: problem?.message ?? 'The node carries the marks of the maintenance',
    };
  const reason = problem?.reason ?? (report.state === 'Announced' ? 'Announced' : 'NotYetHeld');
  return { type: 'NodeHeld', status: 'False', reason, message: problem?.message ?? 'The node is not held' };
};

const drained = ({ state, blockers, pods, problem }: Report): Said => {
  if (state === 'Drained') return { type: 'Drained', status: 'True', reason: 'DrainCompleted', message: 'No pod is left to evict' };
  if (state === 'Detaching') {
    const volumes = fewOf(blockers.flatMap(({ volume }) => volume ?? []));
    return { type: 'Drained', status: 'False', reason: 'VolumesAttached', message: `Still attached: ${volumes}` };
  }
  const stuck = blockers.filter(needsHelp);
  if (stuck.length > 0) {
    const texts = stuck.map(({ pod, volume, message }) => `${pod ? `${pod.namespace}/${pod.name}` : (volume ?? '')}: ${message}`);
    return { type: 'Drained', status: 'False', reason: 'Blocked', message: fewOf(texts, 5) };
  }
  if (state === 'Draining' && pods !== undefined) {
    return { type: 'Drained', status: 'False', reason: 'DrainInProgress', message: 'Pods are leaving the node' };
  }
  return {
    type: 'Drained',
    status: 'False',
    reason: problem?.reason ?? 'NotDraining',
    message: problem?.message ?? 'No drain is under way',
  };
};

const failed = ({ failure, problem }: Report): Said =>
  failure === undefined
    ? { type: 'Failed', status: 'False', reason: 'NoFailure', message: '' }
    : { type: 'Failed', status: 'True', reason: failure, message: problem?.message ?? 'The maintenance has failed' };

/** The conditions of a Maintenance; the time of a transition moves only when the status does. */
export const maintenanceConditions = (
  report: Report,
  stored: MaintenanceStatus,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] =>
  [held(report), drained(report), failed(report)].map(said => {
    const before = stored.conditions?.find(({ type }) => type === said.type);
    const lastTransitionTime = before?.status === said.status ? before.lastTransitionTime : timeText(now);
    return { ...said, observedGeneration: generation, lastTransitionTime };
  });
