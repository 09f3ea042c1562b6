import type { JsonObject } from '../../json.ts';

/** Pods that run beside the nodes, at certain moments of a run. */

export const hookPlaces = ['BeforeRun', 'BeforeStage', 'BeforeNode', 'AfterNode', 'AfterStage', 'AfterRun', 'OnHalt'] as const;
export type HookPlace = (typeof hookPlaces)[number];

export type Hook = {
  readonly name: string;
  readonly at: HookPlace;
  readonly podSpec: JsonObject;
  readonly timeoutSeconds: number;
  /** Pause: nothing that comes behind it goes on before somebody has it run again. */
  readonly onFailure: 'Pause' | 'Continue';
};

/** What is stored of a pod that is to run to its end once. */
export type PodTask = {
  /** Name of the pod. */
  readonly pod: string;
  /** It has been seen: it is not made again when it is gone. */
  readonly podUid?: string;
  /** Since when it is in its state. */
  readonly since: Temporal.Instant;
  /** Why it has failed; empty as long as it has not. */
  readonly message: string;
};

export const hookStates = ['Running', 'Succeeded', 'Failed'] as const;

/** One run of a hook, as it is stored: an entry of status.hooks. */
export type HookRun = PodTask & {
  readonly name: string;
  /** What it is about: the run, the halt, `stage NAME`, or `node UID at TIME`. */
  readonly of: string;
  readonly state: (typeof hookStates)[number];
  readonly attempt: number;
};
