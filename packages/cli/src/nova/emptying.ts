import type { DesiredHostState, HostView } from '@drydock/core/vm';
import { isOnItsWay } from '@drydock/core/vm';
import { HypervisorReconciler, type HypervisorReconcilerOptions } from '@drydock/openstack';
import { MigrationLog } from './migration-log.ts';

type Emptying = Pick<HypervisorReconcilerOptions, 'nova' | 'clock' | 'log' | 'limits'> & {
  readonly host: string;
  readonly desired: DesiredHostState;
  readonly timeOutMs: number;
  readonly line: (text: string) => void;
};

/** Outcome. `late`: the time limit passed. */
export type Emptied = {
  readonly end: 'empty' | 'stuck' | 'late' | 'stopped';
  readonly view: HostView;
};

/** Returns whether no progress is possible without help. */
function isStuck({ vms, problem }: HostView): boolean {
  return (
    problem === undefined && vms.some(({ state }) => state === 'Cannot') && !vms.some(isOnItsWay)
  );
}

const noView: HostView = { vms: [], empty: false };

/**
 * Empties one hypervisor, with a line for every change, until no server is left that has to leave,
 * only servers remain that cannot migrate, the time limit passes, or the signal is aborted. The
 * service stays disabled.
 */
export async function emptyOnce(emptying: Emptying, signal: AbortSignal): Promise<Emptied> {
  const { nova, clock, log, limits = {}, host, desired, timeOutMs, line } = emptying;
  const over = new AbortController();
  const stop = (): void => over.abort();
  const journal = new MigrationLog(line);
  let view = noView;
  let end: Emptied['end'] = 'late';
  const seen = (): void => {
    const now = reconciler.of(host);
    if (typeof now !== 'object') return;
    view = now;
    journal.seen(view);
    if (!view.empty && !isStuck(view)) return;
    end = view.empty ? 'empty' : 'stuck';
    stop();
  };
  const held = new Set([host]);
  const nodes = [{ name: host }];
  const options = { nova, clock, log, limits, touched: seen, held: () => held, nodes: () => nodes };
  const reconciler = new HypervisorReconciler({
    ...options,
    marker: 'drydock nova: ',
    isAnew: true,
  });
  reconciler.want(host, desired);
  const cancel = clock.after(timeOutMs, stop);
  signal.addEventListener('abort', stop);
  if (!signal.aborted) await reconciler.run(over.signal);
  signal.removeEventListener('abort', stop);
  cancel();
  return { end: end === 'late' && signal.aborted ? 'stopped' : end, view };
}
