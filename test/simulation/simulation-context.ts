import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import type { EmbeddedCluster } from '@drydock/kube-sim';
import type { SimulatedCloud } from '@drydock/kube-sim/machines';
import type { Audit } from './audit/audit.ts';
import type { Caller } from './cluster/caller.ts';
import type { SimClock } from './cluster/sim-clock.ts';
import type { Story } from './story/story.ts';

/**
 * Makes the operator worse than it is: what it sends is not what it decided. For tests of the
 * checker.
 */
export type Warp = (api: Api, world: SimulationContext) => Api;

/**
 * Is told what a process of the operator asks the API server for; a watch that is begun is one
 * call.
 */
export type Asked = (method: ApiCall['method'] | 'WATCH', path: string) => void;

/** All that the parts of one play share. */
export type SimulationContext = {
  readonly story: Story;
  readonly clock: SimClock;
  readonly cluster: EmbeddedCluster;
  readonly cloud: SimulatedCloud | undefined;
  readonly audit: Audit;
  /** Chance of what goes wrong; the cluster has its own. */
  readonly chance: () => number;
  readonly warp: Warp;
  /** Events of which the cloud says that they are over, and they are not. */
  readonly lies: ReadonlySet<string>;
  /** The version of the store so many milliseconds ago. */
  readonly versionBefore: (milliseconds: number) => number;
  /** Things go wrong now. */
  readonly isFaulty: () => boolean;
  /** Milliseconds since the operator was first started. */
  readonly sinceStart: () => number;
  /** Told of every call, as it is sent. */
  readonly asked: Asked;
  /**
   * The server does one call of a process of the operator: counted, watched, and interrupted where
   * the story says so.
   */
  readonly serve: (caller: Caller, call: ApiCall) => Promise<ApiResponse>;
};

/** Of a process that is no more: it waits for ever, and so does nothing. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
