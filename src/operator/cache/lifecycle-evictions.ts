import {
  type ActiveResponder,
  type LifecycleEviction,
  lifecycleEvictionsPath,
  readLifecycleEviction,
} from '../../core/drain/lifecycle-eviction.ts';
import type { Pod } from '../../core/pod/pod.ts';
import type { Clock } from '../../support/clock.ts';
import type { Api, Change } from '../ports.ts';
import { Cache } from './cache.ts';
import type { InformerSet } from './informer-set.ts';

export const lifecycleEvictionsName = 'evictions.lifecycle.k8s.io';

/** Evictions that somebody else has requested, kept up to date by a watch where they are served. It only watches and tells. */
export class LifecycleEvictions {
  readonly #evictions = new Cache<LifecycleEviction>(({ podUid }) => podUid);
  readonly #informers: InformerSet;
  readonly #touched: (podUid: string) => void;
  readonly #reach: { readonly api: Api; readonly clock: Clock };

  constructor(reach: { readonly api: Api; readonly clock: Clock }, informers: InformerSet, touched: (podUid: string) => void) {
    this.#reach = reach;
    this.#informers = informers;
    this.#touched = touched;
  }

  /** Watches until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    const collection = { path: lifecycleEvictionsPath };
    await this.#informers.followOnceServed(
      this.#reach,
      lifecycleEvictionsName,
      collection,
      readLifecycleEviction,
      change => this.#changed(change),
      signal,
    );
  }

  #changed(change: Change<LifecycleEviction>): void {
    this.#evictions.apply(change);
    this.#touched(change.object.podUid);
  }

  /** The responders whose turn it is, by the uid of the pod. */
  of(pods: readonly Pod[]): ReadonlyMap<string, ActiveResponder> {
    const active = new Map<string, ActiveResponder>();
    if (this.#evictions.size === 0) return active;
    for (const { uid } of pods)
      for (const { responder } of this.#evictions.in(uid)) if (responder !== undefined) active.set(uid, responder);
    return active;
  }
}
