import type { Api, Fence, Watcher } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { PanicHandler } from '../../support/panic-handler.ts';
import { LeaseLock, type Lock } from './lease-lock.ts';
import { watchedLease } from './lease-record.ts';

/** What one contender needs. */
export type ElectOptions = {
  readonly api: Api;
  /** Who waits to lead sees by a watch that the lease is given back. */
  readonly watcher: Watcher;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** Logged when left out. */
  readonly defects?: PanicHandler;
  readonly namespace: string;
  readonly name: string;
  /** Must differ from process to process: the pod's name and something random. */
  readonly identity: string;
  /**
   * What the identities of this pod's earlier processes begin with: a lease of theirs is taken at once. To be given only where it is certain that none of them
   * runs any more.
   */
  readonly ownPrefix?: string | undefined;
  /** Stop contending, or leading. */
  readonly signal: AbortSignal;
  /** The work of the leader. It must come to its end soon after its signal is aborted; until then the lease is kept if it can be. */
  readonly lead: (fence: Fence, signal: AbortSignal) => Promise<void>;
  /** Others wait so long after the last change that they saw; 9,000 ms. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for so long acts no more; 6,000 ms. Must be less than the lease's duration. */
  readonly renewDeadlineMs?: number;
  /** Between two tries; 1,500 ms, contenders up to 2.2 times that. */
  readonly retryPeriodMs?: number;
  /** Milliseconds since any fixed moment, never set back; `performance.now()` when left out. A hand-turned clock needs its own. */
  readonly uptime?: () => number;
};

/** Milliseconds: how long others wait after the last change that they saw, and after how long without a renewal a leader acts no more. */
export const leaseTimes = { durationMs: 9000, renewDeadlineMs: 6000 } as const;

/** How it ended: told to stop (lease released), the work was done (lease released), or the lease was lost. */
export type ElectOutcome = 'stopped' | 'finished' | 'lost';

/**
 * Contends for a Lease and leads while holding it, by the rules of client-go's leaderelection (k8s.io/client-go/tools/leaderelection), with shorter times: nodes wait
 * for a leader.
 *
 * Whether another's lease has run out is judged by how long this process has seen it unchanged. The fence is open until `renewDeadlineMs`
 * after the *start* of the last renewal that succeeded, which is before any contender may take over; it needs no timer to close, and neither
 * a stopped machine nor a clock that is set keeps it open. A lease that is older than it was counts as lost: etcd was restored, and what the work has read is of another history. When the lease is lost the work's signal is aborted, its end is awaited, and the
 * outcome is `lost`: the caller may exit, or contend again. Rejects with whatever the work rejects with, after giving the lease back.
 */
export const elect = async (options: ElectOptions): Promise<ElectOutcome> => {
  const { leaseDurationMs = leaseTimes.durationMs, renewDeadlineMs = leaseTimes.renewDeadlineMs } = options;
  const { retryPeriodMs = 1500, uptime = () => performance.now(), defects = new PanicHandler(options) } = options;
  if (renewDeadlineMs >= leaseDurationMs) throw new RangeError('the renew deadline of a leader lease must be shorter than its duration');
  const lock = new LeaseLock({ ...options, uptime, defects, durationMs: leaseDurationMs, timeoutMs: Math.max(1000, renewDeadlineMs / 2) });
  const held = await contend(options, lock, retryPeriodMs);
  if (held === undefined) return 'stopped';
  options.log.info('leading', { lease: `${options.namespace}/${options.name}`, identity: options.identity });
  return new LeadershipTerm(options, lock, held, { renewDeadlineMs, retryPeriodMs, uptime }).serve();
};

/** Watches that go on from a version of later see nothing of what happens now: everything is to be read anew. */
const rewound = 'the API server has gone back to older data, as after a restore of etcd: everything is read again';

type Held = Extract<Lock, { readonly kind: 'held' }>;

/** Follows the lease until the signal is aborted; `wake` is called when it has been given back. */
const follow = ({ watcher, namespace, name }: ElectOptions, lock: LeaseLock, wake: () => void, signal: AbortSignal): Promise<void> => {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  return watcher.watch(
    { path, fieldSelector: `metadata.name=${name}` },
    watchedLease,
    {
      changed: ({ type, object }) => {
        if (type === 'removed' || lock.saw(object.lease)) wake();
      },
      synced: () => {},
    },
    signal,
  );
};

/** Tries until the lease is ours; undefined when told to stop before. A try follows as soon as the lease is given back or has run out, and now and then in case the watch sees nothing. */
const contend = async (options: ElectOptions, lock: LeaseLock, retryPeriodMs: number): Promise<Held | undefined> => {
  const { clock, random, log, signal } = options;
  const done = new AbortController();
  let wake = new AbortController();
  const following = follow(options, lock, () => wake.abort(), AbortSignal.any([signal, done.signal]));
  try {
    for (let last = ''; !signal.aborted; ) {
      wake = new AbortController();
      const result = await lock.attempt(signal);
      if (result.kind === 'held') return result;
      const news = result.kind === 'taken' ? `held by ${result.holder}` : result.kind === 'failed' ? result.why : rewound;
      if (news !== last && !signal.aborted) {
        if (result.kind === 'taken') log.info('waiting to lead', { holder: result.holder });
        else log.warn('failed to acquire leader lease; retrying', { error: news });
      }
      last = news;
      const pauseMs = retryPeriodMs * (1 + 1.2 * random());
      const left = result.kind === 'taken' ? Math.min(pauseMs, Math.max(1, lock.runsOutInMs())) : pauseMs;
      await clock.sleep(left, AbortSignal.any([signal, wake.signal]));
    }
    return undefined;
  } finally {
    done.abort();
    await following;
  }
};

type Timing = { readonly renewDeadlineMs: number; readonly retryPeriodMs: number; readonly uptime: () => number };

/** One term of office. */
class LeadershipTerm {
  readonly #options: ElectOptions;
  readonly #lock: LeaseLock;
  readonly #timing: Timing;
  /** Aborted to make the work come to its end: told to stop, or the lease is lost. */
  readonly #work = new AbortController();
  /** Aborted when there is nothing to be renewed any more. */
  readonly #over = new AbortController();
  #held: Held;
  #lost = false;

  constructor(options: ElectOptions, lock: LeaseLock, held: Held, timing: Timing) {
    this.#options = options;
    this.#lock = lock;
    this.#held = held;
    this.#timing = timing;
  }

  async serve(): Promise<ElectOutcome> {
    const { signal, lead } = this.#options;
    const stop = (): void => this.#work.abort(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const renewing = this.#renew();
    try {
      await lead({ mayAct: () => this.#mayAct() }, this.#work.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#over.abort();
      await renewing;
      if (!this.#lost) await this.#release();
    }
    if (this.#lost) return 'lost';
    return signal.aborted ? 'stopped' : 'finished';
  }

  #mayAct(): boolean {
    if (this.#over.signal.aborted) return false;
    const { renewDeadlineMs, uptime } = this.#timing;
    const { sinceMs, sinceUptimeMs } = this.#held;
    const elapsed = this.#options.clock.now().epochMilliseconds - sinceMs;
    // Both clocks: the one stands still while a machine sleeps, the other may be set.
    return elapsed >= 0 && elapsed < renewDeadlineMs && uptime() - sinceUptimeMs < renewDeadlineMs;
  }

  async #renew(): Promise<void> {
    const { clock, log } = this.#options;
    const { retryPeriodMs } = this.#timing;
    let cancel = this.#armEnd();
    while (!this.#over.signal.aborted) {
      await clock.sleep(retryPeriodMs, this.#over.signal);
      if (this.#over.signal.aborted) break;
      const result = await this.#lock.attempt(this.#over.signal);
      if (this.#over.signal.aborted) break;
      if (result.kind === 'taken') this.#lose(`${result.holder} has taken the lease`);
      else if (result.kind === 'rewound') this.#lose(rewound);
      else if (result.kind === 'failed') log.warn('failed to renew leader lease; retrying', { error: result.why });
      else {
        this.#held = result;
        cancel();
        cancel = this.#armEnd();
      }
    }
    cancel();
  }

  /** Ends the term when nothing was renewed in time, even if a request hangs. */
  #armEnd(): () => void {
    const { clock } = this.#options;
    const { renewDeadlineMs } = this.#timing;
    const left = this.#held.sinceMs + renewDeadlineMs - clock.now().epochMilliseconds;
    return clock.after(Math.min(left, renewDeadlineMs), () => this.#lose(`it could not be renewed for ${renewDeadlineMs / 1000} s`));
  }

  #lose(why: string): void {
    if (this.#over.signal.aborted) return;
    this.#lost = true;
    this.#options.log.error('no longer leading', { lease: `${this.#options.namespace}/${this.#options.name}`, why });
    this.#over.abort();
    this.#work.abort(new Error(`no longer leading: ${why}`));
  }

  async #release(): Promise<void> {
    const { log, clock } = this.#options;
    // The stop signal is aborted by now, hence one of its own.
    const limit = new AbortController();
    const cancel = clock.after(5000, () => limit.abort(new Error('no answer')));
    const isReleased = await this.#lock.release(limit.signal);
    cancel();
    if (isReleased) log.info('released leader lease');
    else log.warn('failed to release leader lease; others wait until it expires');
  }
}
