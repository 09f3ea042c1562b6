/** The words that a maintenance's life is told in. */

/** How far a maintenance goes. Announce touches nothing; Cordon keeps new pods away; Drain empties the node. */
export type MaintenanceStage = 'Announce' | 'Cordon' | 'Drain';

/** How far a maintenance is. Each served kind has its own words for it. */
export type MaintenanceState = 'Pending' | 'Announced' | 'Cordoned' | 'Draining' | 'Detaching' | 'Drained' | 'Failed' | 'Releasing';

/** Why a maintenance has failed. */
export type MaintenanceFailure = 'NodeNotFound' | 'LeaseLost' | 'DeadlineExceeded' | 'GivenBack';
