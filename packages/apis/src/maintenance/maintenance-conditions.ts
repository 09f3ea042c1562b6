import { joinLimited } from '@drydock/apimachinery';
import { type Blocker, fewOfEachReason, needsHelp } from '@drydock/core/drain';
import { type Report, withContest, withStay } from '@drydock/core/request';
import { type Condition, type SaidCondition, withTransitions } from '../conditions.ts';
import type { MaintenanceStatus } from '../schema/maintenance.ts';

function held(report: Report): SaidCondition {
  const { problem } = report;
  if (report.held)
    return {
      type: 'NodeHeld',
      status: 'True',
      reason: problem?.reason ?? 'Held',
      message:
        problem?.message ?? withContest('The node carries the marks of the maintenance', report),
    };
  const reason = problem?.reason ?? (report.state === 'Announced' ? 'Announced' : 'NotYetHeld');
  return {
    type: 'NodeHeld',
    status: 'False',
    reason,
    message: problem?.message ?? 'The node is not held',
  };
}

function blockedText({ pod, volume, message }: Blocker): string {
  return `${pod ? `${pod.namespace}/${pod.name}` : (volume ?? '')}: ${message}`;
}

function drained(report: Report): SaidCondition {
  const { state, blockers, pods, problem } = report;
  if (state === 'Drained')
    return {
      type: 'Drained',
      status: 'True',
      reason: 'DrainCompleted',
      message: withStay('No pod is left to evict', report),
    };
  if (state === 'Detaching') {
    const volumes = joinLimited(blockers.flatMap(({ volume }) => volume ?? []));
    return {
      type: 'Drained',
      status: 'False',
      reason: 'VolumesAttached',
      message: `Still attached: ${volumes}`,
    };
  }
  const stuck = blockers.filter(needsHelp);
  if (stuck.length > 0) {
    return {
      type: 'Drained',
      status: 'False',
      reason: 'Blocked',
      message: fewOfEachReason(stuck, blockedText),
    };
  }
  if (state === 'Draining' && pods !== undefined) {
    return {
      type: 'Drained',
      status: 'False',
      reason: 'DrainInProgress',
      message: 'Pods are leaving the node',
    };
  }
  return {
    type: 'Drained',
    status: 'False',
    reason: problem?.reason ?? 'NotDraining',
    message: problem?.message ?? 'No drain is under way',
  };
}

function failed({ failure, problem }: Report): SaidCondition {
  return failure === undefined
    ? { type: 'Failed', status: 'False', reason: 'NoFailure', message: '' }
    : {
        type: 'Failed',
        status: 'True',
        reason: failure,
        message: problem?.message ?? 'The maintenance has failed',
      };
}

/** Returns the conditions of a Maintenance. */
export function maintenanceConditions(
  report: Report,
  stored: MaintenanceStatus,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] {
  return withTransitions(
    [held(report), drained(report), failed(report)],
    stored.conditions,
    generation,
    now,
  );
}
