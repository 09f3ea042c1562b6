import type { VirtualClock } from '@drydock/utils';
import { PanicHandler, silentLog } from '@drydock/utils';
import type { Delta } from '../scene.ts';
import { Observer } from '../watch/observer.ts';
import type { DashboardHarness } from './place.ts';

type Options = ConstructorParameters<typeof Observer>[0];

/**
 * An observer at work on a place of a test, with every change that it tells, and the end of both.
 */
export async function dashboardHarness(
  at: DashboardHarness,
  clock: VirtualClock,
  more: Partial<Pick<Options, 'watcher' | 'machines' | 'plans'>> = {},
) {
  const observer = new Observer({
    watcher: at.ports,
    adapters: at.adapters,
    access: 'link',
    cluster: 'test',
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    ...more,
  });
  const deltas: Delta[] = [];
  observer.listen((_revision, delta) => deltas.push(delta ?? observer.scene()));
  const done = new AbortController();
  const running = observer.run(done.signal);
  await clock.advance(200);
  const end = async (): Promise<void> => {
    done.abort();
    await Promise.all([running, at.stop(), clock.advance(1000)]);
  };
  return { observer, deltas, end };
}
