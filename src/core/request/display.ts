import type { MaintenanceRequest } from './request.ts';

/** What is said of a maintenance to people, whatever its kind. */

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The phase as the kind itself spells it. */
export const phaseOf = ({ deleting, status }: MaintenanceRequest): string => (deleting ? 'Releasing' : textOf(status['phase']) || 'New');

/** The sentence in its status; empty before the first. */
export const messageOf = ({ status }: MaintenanceRequest): string => textOf(status['message']) || textOf(status['lastError']);

/** When the drain is expected to be complete; empty when that cannot be told. */
export const endsOf = ({ status }: MaintenanceRequest): string => textOf(status['estimatedCompletionTime']);

/** Its drain goes on, so that something can be in its way. */
export const isDraining = ({ deleting, history, stage }: MaintenanceRequest): boolean =>
  !deleting && stage === 'Drain' && history.state !== 'Drained';
