import type { JsonObject } from './json.ts';

/** Changes of objects, and the events that they cause: what every decision consists of. */

/** The object that an event is about. */
export type ObjectReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
};

/** An event to record. */
export type KubeEvent = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly about: ObjectReference;
};

/** One change of one object. Every one is guarded by a resourceVersion or says only what is ours. */
export type Write = {
  /** For the log: what it does, in a few words. */
  readonly description: string;
  /** What it is about: those about the same are made in their order, and none after one that was not stored. Missing: all others wait for it. */
  readonly of?: string;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body: JsonObject;
  /** Of a patch. */
  readonly style?: 'merge' | 'strategic';
  /** Of the answer; JSON when left out. */
  readonly accept?: string;
  /** Which store the answer belongs to, so that what was written is seen at once. */
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
  /** Of the served kind, for `requests`. */
  readonly adapter?: string;
  /** Key of the request whose status this is. */
  readonly reportOf?: string;
  /** To be announced once it is stored. */
  readonly events: readonly KubeEvent[];
};
