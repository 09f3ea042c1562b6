import type { JsonObject } from '../json.ts';
import type { DrainPolicy } from '../request/policy.ts';
import type { MaintenanceWindow } from '../window/window.ts';
import type { MachineEvent } from './event.ts';
import type { MachineRequest } from './request.ts';
import type { MachineDecision, MachineSnapshot } from './snapshot.ts';
import type { EventSource, Notice, ScanResult } from './source.ts';

/** A machine, or a node where there is none, that something is announced about. */
export type AnnouncedTarget = {
  /** Name of the Machine or of the node. */
  readonly name: string;
  /** As the cloud calls it. */
  readonly instance: string;
  readonly machine?: { readonly apiVersion: string; readonly namespace: string };
  readonly nodeName?: string;
};

/** How the kinds about machines say what the core thinks. Nothing else knows their fields. */
export type MachineAdapter = {
  /** A string says why the ignoring invalid object. */
  readonly readMaintenance: (raw: unknown) => MachineRequest | string;
  readonly maintenanceStatus: (verdict: MachineDecision, snapshot: MachineSnapshot, now: Temporal.Instant) => JsonObject;
  /** A new MachineMaintenance. `source`: how its events are answered; as by default when left out. */
  readonly newMaintenance: (
    target: AnnouncedTarget,
    place: { readonly namespace: string; readonly name: string },
    events: readonly MachineEvent[],
    source?: EventSource,
  ) => JsonObject;
  /** What `spec.drain` says, with its defaults. */
  readonly drainPolicy: (drain: JsonObject) => DrainPolicy;
  /** `spec` of a merge patch that makes the events these. */
  readonly eventsSpec: (events: readonly MachineEvent[]) => JsonObject;
  readonly readWindow: (raw: unknown) => MaintenanceWindow;
  /** `until`: when it will be another. */
  readonly windowStatus: (
    window: MaintenanceWindow,
    now: Temporal.Instant,
  ) => { readonly status: JsonObject; readonly until?: Temporal.Instant };
  readonly readSource: (raw: unknown) => EventSource;
  readonly sourceStatus: (source: EventSource, result: ScanResult) => JsonObject;
  readonly readNotice: (raw: unknown) => Notice;
};
