import type { JsonObject } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { MachineEvent } from './event.ts';
import type { MachineRequest } from './request.ts';
import type {
  EventSource,
  MachineDecision,
  MachineSnapshot,
  MachineStep,
  Notice,
  ScanResult,
} from './snapshot.ts';
import { approval, begin, escalateStrategy, unpaused } from './steps/begin.ts';
import {
  cancelObsolete,
  cancelOnEventEnd,
  claim,
  cleanUp,
  identified,
  joined,
  notify,
  requireMachineApi,
  restart,
  retention,
} from './steps/life.ts';
import { release, succeed, validateStrategy, waitThrough } from './steps/strategy.ts';
import { drain, replace, surge } from './steps/work.ts';

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

/** Steps in the life of a machine maintenance: the first one that is not done decides. */
const steps: readonly MachineStep[] = [
  claim,
  cleanUp,
  retention,
  requireMachineApi,
  cancelObsolete,
  identified,
  validateStrategy,
  notify,
  joined,
  unpaused,
  approval,
  begin,
  escalateStrategy,
  cancelOnEventEnd,
  surge,
  drain,
  replace,
  waitThrough,
  release,
  restart,
  succeed,
];

/**
 * Decides what to do about a machine maintenance now: a pure function of the snapshot and the time.
 * Everything that it depends on is stored in the API, most of it on the objects that it changes, so
 * a process that is killed between any two writes continues after its restart where it was.
 */
export function decideMachine(snapshot: MachineSnapshot, now: Temporal.Instant): MachineDecision {
  for (const step of steps) {
    const verdict = step(snapshot, now);
    if (verdict !== undefined) return verdict;
  }
  throw new Error('the last step of a machine maintenance always has a verdict');
}
