import type { JsonObject } from '@drydock/apimachinery';

/** Pods that run beside the nodes, at certain moments of a run. */

export const hookPlaces = [
  'BeforeRun',
  'BeforeStage',
  'BeforeNode',
  'AfterNode',
  'AfterStage',
  'AfterRun',
  'OnHalt',
] as const;
export type HookPlace = (typeof hookPlaces)[number];

export type Hook = {
  readonly name: string;
  readonly at: HookPlace;
  readonly podSpec: JsonObject;
  readonly timeoutSeconds: number;
  /**
   * Behaviour after a failure. Pause: nothing that comes after it goes on before a user runs it
   * again.
   */
  readonly onFailure: 'Pause' | 'Continue';
};

/** Stored state of a pod that is to run to its end once. */
export type PodTask = {
  /** Name of the pod. */
  readonly pod: string;
  /** uid of the pod, once observed: the pod is not created again when it is gone. */
  readonly podUid?: string;
  /** Time since when it is in its state. */
  readonly since: Temporal.Instant;
  /** Reason of its failure; empty as long as it has not failed. */
  readonly message: string;
};

export const hookStates = ['Running', 'Succeeded', 'Failed'] as const;

/** A run of a hook as it is stored: an entry of status.hooks. */
export type HookRun = PodTask & {
  readonly name: string;
  /** Scope of the run: the run, the halt, `stage NAME`, or `node UID at TIME`. */
  readonly scope: string;
  readonly state: (typeof hookStates)[number];
  readonly attempt: number;
};
