/** Words for the life of a maintenance. */

/**
 * Stage that a maintenance goes to. Announce changes nothing; Cordon keeps new pods away; Drain
 * empties the node.
 */
export type MaintenanceLevel = 'Announce' | 'Cordon' | 'Drain';

/** State of a maintenance. Each served kind has its own words for it. */
export type MaintenanceState =
  | 'Pending'
  | 'Announced'
  | 'Cordoned'
  | 'Draining'
  | 'Detaching'
  | 'Drained'
  | 'Failed'
  | 'Releasing';

/** Failure of a maintenance. */
export type MaintenanceFailure = 'NodeNotFound' | 'LeaseLost' | 'DeadlineExceeded' | 'Released';
