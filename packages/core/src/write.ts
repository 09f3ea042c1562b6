import type { JsonObject, KubeEvent } from '@drydock/apimachinery';

/** Changes of objects, and the events that they cause: the contents of every decision. */

/** A change of one object. Each is guarded by a resourceVersion or contains only fields of ours. */
export type Write = {
  /** Description for the log, in a few words. */
  readonly description: string;
  /**
   * Subject of the write: writes about the same subject are sent in order, and none after a failed
   * one. Missing: all others wait for it.
   */
  readonly of?: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body: JsonObject;
  /** Style of a patch. */
  readonly style?: 'merge' | 'strategic';
  /** Accepted type of the response; JSON if left out. */
  readonly accept?: string;
  /** Store that the response belongs to, so that the write is visible at once. */
  readonly cache:
    | 'nodes'
    | 'leases'
    | 'requests'
    | 'machineMaintenances'
    | 'machines'
    | 'machineSets'
    | 'machineEventSources'
    | 'windows'
    | 'nodeNotices'
    | 'evictionRequests'
    | 'vms'
    | 'plans'
    | 'planPods'
    | 'planRecords';
  /** Name of the served kind, for `requests`. */
  readonly adapter?: string;
  /** Key of the request whose status this is. */
  readonly reportOf?: string;
  /** Events to record after the write is stored. */
  readonly events: readonly KubeEvent[];
};

/**
 * Annotation on a Maintenance and on a pod, and label of a pod: the name of the MaintenancePlan
 * that it is part of.
 */
export const planAnnotation = 'drydock.dev/maintenance-plan';

/** Kinds of announcements by a cloud, a node or a person about a machine. */

/**
 * Kinds: reboot, redeploy (the machine starts again on another host, the data on local disks is
 * lost), freeze (it pauses for seconds), maintenance (network or power may fail for a while), stop,
 * retirement (it will not come back), termination, preemption (the cloud takes the machine back
 * within seconds or minutes), rebalance (it may take it back soon).
 */
export const eventKinds = [
  'reboot',
  'redeploy',
  'freeze',
  'maintenance',
  'stop',
  'retirement',
  'termination',
  'preemption',
  'rebalance',
] as const;
export type EventKind = (typeof eventKinds)[number];
