export { decideHost } from './decide.ts';
export {
  type HypervisorIdentity,
  hypervisorKey,
  inFlightMigrations,
  type Match,
  type Matcher,
  matchHosts,
  type NodeIdentity,
} from './match.ts';
export {
  type ComputeService,
  defaultLimits,
  type HostCall,
  type HostDecision,
  type HostSnapshot,
  hasFailed,
  hasSucceeded,
  isMarked,
  isUnderWay,
  type Marker,
  type MigrationLimits,
  markOf,
  type NovaRefusal,
  type NovaServer,
  type ServerMigration,
} from './server.ts';
export { since } from './server-history.ts';
