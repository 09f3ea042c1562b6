import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBoth } from './both.ts';
import { configMap } from './cases/things.ts';
import type { Case } from './site.ts';

// etcd forgets what is older than an interval or two.
const both = await startBoth(['--etcd-compaction-interval=1s']);
const skip = both.kind === 'left-out' ? `control plane left out: ${both.why}` : false;

/**
 * Both servers forget what is past: etcd by its compaction, the API server's cache by a restart.
 */
async function forget(isReal: boolean): Promise<void> {
  if (both.kind !== 'started') return;
  if (!isReal) return both.embedded.registry.store.compact();
  await sleep(3500);
  await both.real.restart('kube-apiserver');
}

const past: Case = {
  name: 'lists, pages and watches from a version that has been forgotten are refused with 410',
  run: async at => {
    const isReal = both.kind === 'started' && at.access.server === both.real.server;
    for (const name of ['a', 'b', 'c']) await at.has(at.path('configmaps'), configMap(name));
    const { body } = await at.get(`${at.path('configmaps')}?limit=1`, { compared: false });
    const { resourceVersion, continue: token = '' } = body.metadata ?? { resourceVersion: '' };
    await at.delete(at.path('configmaps', 'b'), undefined, { compared: false });
    await forget(isReal);
    const next = await at.get(
      `${at.path('configmaps')}?limit=1&continue=${encodeURIComponent(token)}`,
    );
    // The answer holds a token that goes on with what is there now.
    await at.get(
      `${at.path('configmaps')}?continue=${encodeURIComponent(next.body.metadata?.continue ?? '')}`,
    );
    await at.get(
      `${at.path('configmaps')}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
    );
    await at.watch(
      `${at.path('configmaps')}?watch=1&resourceVersion=${resourceVersion}`,
      async () => {},
    );
  },
};

describe('what is past', { skip, timeout: 60_000 }, () => {
  after(async () => {
    if (both.kind === 'started') await both.stop();
  });
  test(past.name, async () => {
    if (both.kind === 'started') await both.run(past, 'expired');
  });
});
