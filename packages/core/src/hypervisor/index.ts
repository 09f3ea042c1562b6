export { decideHost } from './decide.ts';
export { isMarked, type Marker, markOf } from './mark.ts';
export {
  type HypervisorIdentity,
  hypervisorKey,
  type Match,
  type Matcher,
  matchHosts,
  type NodeIdentity,
} from './match.ts';
export {
  type ComputeService,
  hasFailed,
  hasSucceeded,
  isUnderWay,
  type NovaServer,
  type ServerMigration,
} from './server.ts';
export { since } from './server-history.ts';
export {
  defaultLimits,
  type HostCall,
  type HostDecision,
  type HostSnapshot,
  type MigrationLimits,
  type NovaRefusal,
} from './snapshot.ts';
export { inFlightMigrations } from './turn.ts';
