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
