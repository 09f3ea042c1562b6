import { compareVersions } from '../../core/version.ts';
import { type MaintenanceWindow, windowsPath } from '../../core/window/window.ts';
import type { Clock } from '../../support/clock.ts';
import { errorText } from '../../support/error-text.ts';
import type { Log } from '../../support/log.ts';
import { isDefect } from '../../support/panic-handler.ts';
import { listAll } from '../list.ts';
import type { Api } from '../ports.ts';
import type { Cache } from './cache.ts';

/** An object that begins when windows allow it. */
type Asker = { readonly uid: string; readonly generation: number };

/** How many objects are remembered: of those that are forgotten one more list is made. */
const maxRemembered = 10_000;

/** A watch is always a moment later than a list. When it is later than this, in milliseconds, somebody is told. */
const lateAfterMs = 2000;

type Listed = { readonly metadata: { readonly name: string; readonly resourceVersion: string } };

/**
 * Whether all windows are known that were there before an object, or before its last edit. The watch of the windows may be later than that of
 * the object: of a window and a maintenance that are applied together, the maintenance may be seen first, and would begin outside of the opening.
 */
export class WindowFreshness {
  readonly #api: Api;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #windows: Cache<MaintenanceWindow>;
  /** By uid: the generation of the object for which they are. */
  readonly #known = new Map<string, number>();
  #running: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #problem: string | undefined;
  /** Since when the watch owes a window, in milliseconds. */
  #owedSince: number | undefined;

  constructor({ api, log, clock }: { readonly api: Api; readonly log: Log; readonly clock: Clock }, windows: Cache<MaintenanceWindow>) {
    this.#api = api;
    this.#log = log;
    this.#clock = clock;
    this.#windows = windows;
  }

  /** Why the last list has not said that all are known; undefined when it has, and as long as only the watch is a moment late. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Why it is not known whether there is another window for this object; undefined when all are known. */
  problemFor(asker: Asker): string | undefined {
    return this.areKnownTo(asker) ? undefined : (this.#problem ?? 'waiting for the list of MaintenanceWindows');
  }

  /** As far as has been found out. */
  areKnownTo({ uid, generation }: Asker): boolean {
    return this.#known.get(uid) === generation;
  }

  /** Asks the API server once a generation; as long as it gives no answer, or knows of more than the watch, each time. Rejects for defects only. */
  async find(asker: Asker): Promise<boolean> {
    if (this.areKnownTo(asker)) return true;
    const isKnown = await this.#listed();
    if (isKnown) this.#remember(asker);
    return isKnown;
  }

  #remember({ uid, generation }: Asker): void {
    this.#known.set(uid, generation);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxRemembered && oldest !== undefined) this.#known.delete(oldest);
  }

  /** The answer to a list that begins now, or later: one at a time, for all who ask meanwhile. */
  #listed(): Promise<boolean> {
    if (this.#running === undefined) return this.#begin();
    const begin = (): Promise<boolean> => {
      this.#next = undefined;
      return this.#begin();
    };
    // Whoever has asked for the list before is told what became of it.
    this.#next ??= this.#running.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<boolean> {
    const list = this.#list().finally(() => {
      if (this.#running === list) this.#running = undefined;
    });
    this.#running = list;
    return list;
  }

  async #list(): Promise<boolean> {
    const listed = await this.#read();
    if (listed === undefined) return false;
    const news = listed.find(window => this.#isNews(window));
    this.#problem = news && this.#isLate() ? `the watch has not told of ${news.metadata.name} yet` : undefined;
    if (news === undefined) this.#owedSince = undefined;
    return news === undefined;
  }

  /** All windows as the API server has them; undefined where it does not say, and then why is known. */
  async #read(): Promise<readonly Listed[] | undefined> {
    try {
      return (await listAll(this.#api, windowsPath, {}, 'empty')) as readonly Listed[];
    } catch (error) {
      if (isDefect(error)) throw error;
      this.#log.warn('failed to list the windows before something begins', { error });
      this.#problem = errorText(error);
      return undefined;
    }
  }

  /** The watch owes a window, and has done so for long. */
  #isLate(): boolean {
    const nowMs = this.#clock.now().epochMilliseconds;
    this.#owedSince ??= nowMs;
    return nowMs - this.#owedSince >= lateAfterMs;
  }

  #isNews({ metadata: { name, resourceVersion } }: Listed): boolean {
    const known = this.#windows.get(name);
    return known === undefined || compareVersions(known.resourceVersion, resourceVersion) < 0;
  }
}
