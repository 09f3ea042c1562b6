import type { MaintenanceRequest } from './request.ts';

/** Display of a maintenance to people, for every kind. */

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the phase as the kind itself spells it. */
export function phaseOf({ deleting, status }: MaintenanceRequest): string {
  return deleting ? 'Releasing' : textOf(status['phase']) || 'New';
}

/** Returns the message of its status; empty before the first. */
export function messageOf({ status }: MaintenanceRequest): string {
  return textOf(status['message']) || textOf(status['lastError']);
}

/** Returns when the drain is expected to be complete; empty if that is unknown. */
export function endsOf({ status }: MaintenanceRequest): string {
  return textOf(status['estimatedCompletionTime']);
}

/** Reports whether its drain goes on, so that it can be blocked. */
export function isDraining({ deleting, history, level }: MaintenanceRequest): boolean {
  return !deleting && level === 'Drain' && history.state !== 'Drained';
}
