/** Objects of a simulated OpenStack, with Nova's own names. */

export type SimulatedHost = {
  readonly name: string;
  /** Name of the hypervisor: `hypervisor_hostname`. */
  readonly hypervisor: string;
  readonly service: string;
  readonly hypervisorId: string;
  enabled: boolean;
  reason: string | undefined;
  up: boolean;
  /** Number of servers that it can hold. */
  readonly room: number;
};

export type SimulatedServer = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly memoryMiB: number;
  readonly createdMs: number;
  /** Whether it was booted from a volume: then its image is an empty string. */
  readonly volumeBacked: boolean;
  host: string | undefined;
  vmState: string;
  taskState: string | undefined;
  /** State before a resize. */
  earlier: string;
  /** Whether no other host fits it. */
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
  /** Time of the next automatic step. */
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
