/** The things in a simulated OpenStack, in Nova's own words. */

export type SimulatedHost = {
  readonly name: string;
  /** `hypervisor_hostname`. */
  readonly hypervisor: string;
  readonly service: string;
  readonly hypervisorId: string;
  enabled: boolean;
  reason: string | undefined;
  up: boolean;
  /** Servers that find room on it. */
  readonly room: number;
};

export type SimulatedServer = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly memoryMiB: number;
  readonly createdMs: number;
  /** Booted from a volume: its image is an empty string. */
  readonly volumeBacked: boolean;
  host: string | undefined;
  vmState: string;
  taskState: string | undefined;
  /** Before a resize. */
  earlier: string;
  /** No other host fits it. */
  pinned: boolean;
};

export type SimulatedMigration = {
  readonly id: number;
  readonly uuid: string;
  readonly server: string;
  readonly type: 'live-migration' | 'migration' | 'resize';
  readonly source: string;
  readonly user: string;
  readonly request: string;
  readonly createdMs: number;
  target: string | undefined;
  status: string;
  updatedMs: number;
  beganMs: number | undefined;
  /** When it goes on by itself. */
  dueMs: number | undefined;
};

export type SimulatedAction = {
  readonly request: string;
  readonly server: string;
  readonly action: string;
  readonly event: string;
  readonly startMs: number;
  message: string | undefined;
  details: string | undefined;
};
