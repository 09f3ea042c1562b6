import type { Plan } from '../../core/plan/plan.ts';
import { compareVersions } from '../../core/version.ts';
import { windowsPath } from '../../core/window/window.ts';
import type { Log } from '../../support/log.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { listAll } from '../list.ts';
import type { Api } from '../ports.ts';

type Options = { readonly api: Api; readonly log: Log; readonly cache: Pick<ClusterCache, 'windows'> };

type Listed = { readonly metadata: { readonly name: string; readonly resourceVersion: string } };

/**
 * Whether all windows are known that were there before a plan, or before its last edit. The watch of the windows may be later than that of
 * the plans: of a window and a plan that are applied together, the plan may be seen first, and its run would begin outside of the opening.
 */
export class KnownWindows {
  readonly #options: Options;
  /** By uid: the generation of the plan for which they are. */
  readonly #known = new Map<string, number>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Asks the API server once a generation; as long as it gives no answer, or knows of more than the watch, each time. */
  async areKnown({ name, uid, generation, windows }: Plan): Promise<boolean> {
    if (windows === 'Ignore' || this.#known.get(uid) === generation) return true;
    const { api, log } = this.#options;
    try {
      const listed = (await listAll(api, windowsPath, {}, 'none if missing')) as readonly Listed[];
      if (listed.some(window => this.#isNews(window))) return false;
    } catch (error) {
      log.warn('failed to list the windows before a plan begins', { plan: name, error });
      return false;
    }
    this.#known.set(uid, generation);
    return true;
  }

  #isNews({ metadata: { name, resourceVersion } }: Listed): boolean {
    const known = this.#options.cache.windows.get(name);
    return known === undefined || compareVersions(known.resourceVersion, resourceVersion) < 0;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }
}
