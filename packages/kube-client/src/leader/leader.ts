import type { Clock, Log } from '@drydock/utils';
import { PanicHandler } from '@drydock/utils';
import type { Api, Fence, Watcher } from '../api.ts';
import { LeaseLock, type Lock, watchedLease } from './lease-lock.ts';

/** Options of one candidate. */
export type ElectOptions = {
  readonly api: Api;
  /** Watcher through which waiting candidates see the release of the lease. */
  readonly watcher: Watcher;
  readonly clock: Clock;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** Handler of defects; they are only logged when this is left out. */
  readonly defects?: PanicHandler;
  readonly namespace: string;
  readonly name: string;
  /** Identity, unique for each process: the pod's name and a random part. */
  readonly identity: string;
  /**
   * Common prefix of the identities of this pod's earlier processes: their lease is taken at once.
   * Set it only where it is certain that none of them runs any more.
   */
  readonly ownPrefix?: string | undefined;
  /** Signal to stop contending or leading. */
  readonly signal: AbortSignal;
  /**
   * Work of the leader. Must end soon after its signal is aborted; until then the lease is kept if
   * possible.
   */
  readonly lead: (fence: Fence, signal: AbortSignal) => Promise<void>;
  /**
   * Time that others wait after the last change that they saw, in milliseconds; 9,000 when left
   * out.
   */
  readonly leaseDurationMs?: number;
  /**
   * Time without a renewal after which a leader stops acting, in milliseconds; 6,000 when left out.
   * Must be less than the lease's duration.
   */
  readonly renewDeadlineMs?: number;
  /**
   * Time between two attempts, in milliseconds; 1,500 when left out, for candidates up to 2.2 times
   * that.
   */
  readonly retryPeriodMs?: number;
  /**
   * Monotonic milliseconds since any fixed moment; `performance.now()` when left out. A virtual
   * clock needs its own.
   */
  readonly uptime?: () => number;
};

/**
 * Times in milliseconds: how long others wait after the last change that they saw, and how long
 * after its last renewal a leader stops acting.
 */
export const leaseTimes = { durationMs: 9000, renewDeadlineMs: 6000 } as const;

/**
 * Outcome: stopped by the signal (lease released), work finished (lease released), or lease lost.
 */
export type ElectOutcome = 'stopped' | 'finished' | 'lost';

/**
 * Contends for a Lease and leads while holding it, by the rules of client-go's leaderelection
 * (k8s.io/client-go/tools/leaderelection), with shorter times: nodes wait for a leader.
 *
 * A candidate considers another's lease expired by how long this process has seen it unchanged. The
 * fence is open until `renewDeadlineMs` after the *start* of the last successful renewal, which is
 * before any candidate may take over; it needs no timer to close, and neither a suspended machine
 * nor a changed clock keeps it open. A lease older than a version seen before counts as lost: etcd
 * was restored, and the work has read data of another history. When the lease is lost, the work's
 * signal is aborted, its end is awaited, and the outcome is `lost`: the caller may exit, or contend
 * again. Rejects with the work's error, after releasing the lease.
 */
export async function elect(options: ElectOptions): Promise<ElectOutcome> {
  const { leaseDurationMs = leaseTimes.durationMs, renewDeadlineMs = leaseTimes.renewDeadlineMs } =
    options;
  const {
    retryPeriodMs = 1500,
    uptime = () => performance.now(),
    defects = new PanicHandler(options),
  } = options;
  if (renewDeadlineMs >= leaseDurationMs)
    throw new RangeError('the renew deadline of a leader lease must be shorter than its duration');
  const lock = new LeaseLock({
    ...options,
    uptime,
    defects,
    durationMs: leaseDurationMs,
    timeoutMs: Math.max(1000, renewDeadlineMs / 2),
  });
  const held = await contend(options, lock, retryPeriodMs);
  if (held === undefined) return 'stopped';
  options.log.info('leading', {
    lease: `${options.namespace}/${options.name}`,
    identity: options.identity,
  });
  return new LeadershipTerm(options, lock, held, {
    renewDeadlineMs,
    retryPeriodMs,
    uptime,
  }).serve();
}

/**
 * Reason for a restart: watches that continue from a later version miss current events, so all data
 * must be listed again.
 */
const rewound =
  'the API server has gone back to older data, as after a restore of etcd: everything is read again';

type Held = Extract<Lock, { readonly kind: 'held' }>;

/** Watches the lease until the signal is aborted; calls `wake` when the lease is released. */
function follow(
  { watcher, namespace, name }: ElectOptions,
  lock: LeaseLock,
  wake: () => void,
  signal: AbortSignal,
): Promise<void> {
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
}

/**
 * Retries until the lease is acquired; returns undefined when stopped before. A retry follows as
 * soon as the lease is released or expires, and periodically in case the watch misses that.
 */
async function contend(
  options: ElectOptions,
  lock: LeaseLock,
  retryPeriodMs: number,
): Promise<Held | undefined> {
  const { clock, random, log, signal } = options;
  const done = new AbortController();
  let wake = new AbortController();
  const following = follow(
    options,
    lock,
    () => wake.abort(),
    AbortSignal.any([signal, done.signal]),
  );
  try {
    for (let last = ''; !signal.aborted; ) {
      wake = new AbortController();
      const result = await lock.attempt(signal);
      if (result.kind === 'held') return result;
      const news =
        result.kind === 'taken'
          ? `held by ${result.holder}`
          : result.kind === 'failed'
            ? result.why
            : rewound;
      if (news !== last && !signal.aborted) {
        if (result.kind === 'taken') log.info('waiting to lead', { holder: result.holder });
        else log.warn('failed to acquire leader lease; retrying', { error: news });
      }
      last = news;
      const pauseMs = retryPeriodMs * (1 + 1.2 * random());
      const left =
        result.kind === 'taken' ? Math.min(pauseMs, Math.max(1, lock.runsOutInMs())) : pauseMs;
      await clock.sleep(left, AbortSignal.any([signal, wake.signal]));
    }
    return undefined;
  } finally {
    done.abort();
    await following;
  }
}

type Timing = {
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly uptime: () => number;
};

/** One term of leadership. */
class LeadershipTerm {
  readonly #options: ElectOptions;
  readonly #lock: LeaseLock;
  readonly #timing: Timing;
  /** Aborts the work: the caller stopped the election, or the lease is lost. */
  readonly #work = new AbortController();
  /** Aborts the renewals when none is needed any more. */
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
    // Checks both clocks: one stands still while a machine sleeps, the other may be set.
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
      else if (result.kind === 'failed')
        log.warn('failed to renew leader lease; retrying', { error: result.why });
      else {
        this.#held = result;
        cancel();
        cancel = this.#armEnd();
      }
    }
    cancel();
  }

  /**
   * Ends the term when no renewal succeeded in time, even if a request hangs. Returns a function
   * that cancels the timer.
   */
  #armEnd(): () => void {
    const { clock } = this.#options;
    const { renewDeadlineMs } = this.#timing;
    const left = this.#held.sinceMs + renewDeadlineMs - clock.now().epochMilliseconds;
    return clock.after(Math.min(left, renewDeadlineMs), () =>
      this.#lose(`it could not be renewed for ${renewDeadlineMs / 1000} s`),
    );
  }

  #lose(why: string): void {
    if (this.#over.signal.aborted) return;
    this.#lost = true;
    this.#options.log.error('no longer leading', {
      lease: `${this.#options.namespace}/${this.#options.name}`,
      why,
    });
    this.#over.abort();
    this.#work.abort(new Error(`no longer leading: ${why}`));
  }

  async #release(): Promise<void> {
    const { log, clock } = this.#options;
    // The stop signal is already aborted, hence a separate one.
    const limit = new AbortController();
    const cancel = clock.after(5000, () => limit.abort(new Error('no answer')));
    const isReleased = await this.#lock.release(limit.signal);
    cancel();
    if (isReleased) log.info('released leader lease');
    else log.warn('failed to release leader lease; others wait until it expires');
  }
}
