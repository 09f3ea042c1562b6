import type { JsonObject } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import type { MaintenanceWindow } from '../window/window.ts';
import type { MachineEvent } from './event.ts';
import type { MachineRequest } from './request.ts';
import type { MachineDecision, MachineSnapshot } from './snapshot.ts';
import type { EventSource, Notice, ScanResult } from './source.ts';

/** A machine, or a node without one, that an announcement is about. */
export type AnnouncedTarget = {
  /** Name of the Machine or of the node. */
  readonly name: string;
  /** Name of the instance in the cloud. */
  readonly instance: string;
  readonly machine?: { readonly apiVersion: string; readonly namespace: string };
  readonly nodeName?: string;
};

/** An adapter between the core and the kinds about machines. Nothing else knows their fields. */
export type MachineAdapter = {
  /**
   * Function that reads a MachineMaintenance; a string is the reason why the object is invalid and
   * ignored.
   */
  readonly readMaintenance: (raw: unknown) => MachineRequest | string;
  readonly maintenanceStatus: (
    verdict: MachineDecision,
    snapshot: MachineSnapshot,
    now: Temporal.Instant,
  ) => JsonObject;
  /**
   * Function that returns a new MachineMaintenance. `source`: source whose settings decide the
   * response to its events; defaults if left out.
   */
  readonly newMaintenance: (
    target: AnnouncedTarget,
    place: { readonly namespace: string; readonly name: string },
    events: readonly MachineEvent[],
    source?: EventSource,
  ) => JsonObject;
  /** Function that parses `spec.drain`, with its defaults. */
  readonly drainPolicy: (drain: JsonObject) => DrainPolicy;
  /** Function that returns the `spec` of a merge patch with these events. */
  readonly eventsSpec: (events: readonly MachineEvent[]) => JsonObject;
  readonly readWindow: (raw: unknown) => MaintenanceWindow;
  /** Function that returns the status of a window. `until`: time of its next change. */
  readonly windowStatus: (
    window: MaintenanceWindow,
    now: Temporal.Instant,
  ) => { readonly status: JsonObject; readonly until?: Temporal.Instant };
  readonly readSource: (raw: unknown) => EventSource;
  readonly sourceStatus: (source: EventSource, result: ScanResult) => JsonObject;
  readonly readNotice: (raw: unknown) => Notice;
};
