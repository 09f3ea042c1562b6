import { readTime } from '@drydock/apimachinery';
import type { InFlight, Outcome, Preparing } from '@drydock/core/plan';
import { maxAttempts } from '@drydock/core/plan';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { taskOf } from './gates-and-hooks.ts';

/** Nodes in flight of a MaintenancePlan, and nodes in preparation, as stored in its status. */

const epoch = Temporal.Instant.fromEpochMilliseconds(0);

type RawInFlight = NonNullable<MaintenancePlanStatus['inFlight']>[number];

function timesOf(
  one: RawInFlight,
): Pick<InFlight, 'workStartedAt' | 'rebootStartedAt' | 'workEndedAt'> {
  const [workStartedAt, rebootStartedAt, workEndedAt] = [
    one.workStartTime,
    one.rebootStartTime,
    one.workCompletionTime,
  ].map(readTime);
  return {
    ...(workStartedAt && { workStartedAt }),
    ...(rebootStartedAt && { rebootStartedAt }),
    ...(workEndedAt && { workEndedAt }),
  };
}

function outcomeOf({ stuck, ...rest }: NonNullable<RawInFlight['outcome']>): Outcome {
  return { ...rest, ...(stuck === true && { stuck }) };
}

export function inFlightOf(one: RawInFlight): InFlight {
  const [soakSince, soakBrokenAt] = [readTime(one.soakStartTime), readTime(one.soakBrokenTime)];
  return {
    node: one.node,
    uid: one.nodeUID,
    stage: one.stage,
    revision: one.revision,
    work: one.work,
    ...(one.providerID !== undefined && { providerId: one.providerID }),
    ...(one.heldAs !== undefined && { heldAs: one.heldAs }),
    ...(one.domains && { domains: one.domains }),
    state: one.state,
    startedAt: readTime(one.startTime) ?? epoch,
    since: readTime(one.stateStartTime) ?? epoch,
    attempt: Math.min(Math.max(0, one.attempt), maxAttempts),
    ...(one.bootIDBefore !== undefined && { bootIdBefore: one.bootIDBefore }),
    ...(one.idleBootID !== undefined && { idleBootId: one.idleBootID }),
    ...(one.taintsBefore && { taintsBefore: one.taintsBefore }),
    ...(one.ranAttempt !== undefined && { ranAttempt: one.ranAttempt }),
    ...(one.pod !== undefined && { pod: one.pod }),
    ...(one.podUID !== undefined && { podUid: one.podUID }),
    ...timesOf(one),
    ...(soakSince && { soakSince }),
    ...(one.soakMark !== undefined && { soakMark: one.soakMark }),
    ...(soakBrokenAt && { soakBrokenAt }),
    ...(one.rebooted === true && { rebooted: true }),
    ...(one.outcome && { outcome: outcomeOf(one.outcome) }),
  };
}

export function preparingOf({
  nodeUID,
  ...rest
}: NonNullable<MaintenancePlanStatus['preparing']>[number]): Preparing {
  return {
    ...taskOf(rest),
    uid: nodeUID,
  };
}
