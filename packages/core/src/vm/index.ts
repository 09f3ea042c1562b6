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
  type EvictionPreview,
  evictionPreview,
  type Hypervisors,
  type KubeVirtState,
  type MigrationLoad,
  migrationLoadOf,
  nodeVmsFor,
  ownersOf,
} from './kubevirt-state.ts';
export type { NodeVms } from './vm-pod.ts';
export {
  countVms,
  type DesiredHostState,
  defaultServerPolicy,
  type HostView,
  isOnItsWay,
  plainVmPolicy,
  type ServerPolicy,
  type VmPolicy,
  type VmState,
  type VmStatus,
} from './vm-status.ts';
