import { needsHelp } from '../../core/drain/blockers/blocker.ts';
import type { Report } from '../../core/maintenance/report.ts';
import { fewOf } from '../../core/text.ts';
import { type Condition, type SaidCondition, withTransitions } from '../conditions.ts';
import type { MaintenanceStatus } from '../schema/maintenance.ts';

const held = (report: Report): SaidCondition => {
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

const drained = ({ state, blockers, pods, problem }: Report): SaidCondition => {
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

const failed = ({ failure, problem }: Report): SaidCondition =>
  failure === undefined
    ? { type: 'Failed', status: 'False', reason: 'NoFailure', message: '' }
    : { type: 'Failed', status: 'True', reason: failure, message: problem?.message ?? 'The maintenance has failed' };

/** The conditions of a Maintenance. */
export const maintenanceConditions = (
  report: Report,
  stored: MaintenanceStatus,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] => withTransitions([held(report), drained(report), failed(report)], stored.conditions, generation, now);
