export { type EvictionPreview, evictionPreview } from './eviction-preview.ts';
export type { DesiredHostState, HostView } from './host.ts';
export type { Hypervisors } from './hypervisors.ts';
export {
  defaultSettings,
  type KubeVirtSettings,
  migrationsPath,
  readMigration,
  readSettings,
  readTarget,
  readVmi,
  settingsPath,
  type UnplacedTarget,
  unplacedTargets,
  type Vmi,
  type VmMigration,
  vmisPath,
} from './kubevirt.ts';
export {
  type KubeVirtState,
  type MigrationLoad,
  migrationLoadOf,
  nodeVmsFor,
  ownersOf,
} from './kubevirt-state.ts';
export { plainVmPolicy, type VmPolicy } from './policy.ts';
export { defaultServerPolicy, type ServerPolicy } from './server-policy.ts';
export type { NodeVms } from './vm-pod.ts';
export { countVms, isOnItsWay, type VmState, type VmStatus } from './vm-status.ts';
