import type { MaintenanceRequest } from './request.ts';

/** Display of a maintenance to people, for every kind. */

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the phase as the kind itself spells it. */
export const phaseOf = ({ deleting, status }: MaintenanceRequest): string => (deleting ? 'Releasing' : textOf(status['phase']) || 'New');

/** Returns the message of its status; empty before the first. */
export const messageOf = ({ status }: MaintenanceRequest): string => textOf(status['message']) || textOf(status['lastError']);

/** Returns when the drain is expected to be complete; empty if that is unknown. */
export const endsOf = ({ status }: MaintenanceRequest): string => textOf(status['estimatedCompletionTime']);

/** Reports whether its drain goes on, so that it can be blocked. */
export const isDraining = ({ deleting, history, stage }: MaintenanceRequest): boolean =>
  !deleting && stage === 'Drain' && history.state !== 'Drained';
