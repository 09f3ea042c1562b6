import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../testing/fakes.ts';
import { machineBench } from '../testing/machine-bench.ts';

const path = '/apis/drydock.dev/v1alpha1/maintenancewindows/w';

/** A window that is open from the tenth minute to the twentieth. */
const openings = [{ from: '2026-01-01T00:10:00Z', to: '2026-01-01T00:20:00Z' }];

function bench(options: Parameters<typeof machineBench>[1] = {}) {
  const made = machineBench(
    (_, cluster) =>
      void cluster.put(path, { metadata: { name: 'w', generation: 1 }, spec: { openings } }),
    options,
  );
  const told = (): number =>
    made.cluster.written.filter(one => one === `PATCH ${path}/status`).length;
  return { ...made, told, isOpen: (): unknown => made.part(path, 'status')['open'] };
}

test('a window says whether it is open, once each time that changes', async () => {
  const { wait, isOpen, told, cluster, log, end } = bench();
  const seen: unknown[] = [];
  for (const seconds of [1, 590, 10, 590, 10, 3600]) {
    await wait(seconds);
    seen.push(isOpen());
  }
  assert.deepEqual(seen, [false, false, true, true, false, false]);
  assert.equal(told(), 3);
  cluster.remove(path);
  await wait(1);
  assert.deepEqual([told(), log.of('error')], [3, []]);
  await end();
});

test('what a window says is written a little later where it was refused', async () => {
  const { wait, isOpen, told, server, end } = bench({
    responses: ({ method }) => (method === 'PATCH' ? failure(500, 'broken') : undefined),
  });
  await wait(1);
  assert.equal(isOpen(), undefined);
  server.responses = () => undefined;
  await wait(10);
  assert.deepEqual([isOpen(), told()], [false, 2]);
  await end();
});

test('a window that nobody can say anything of is shut, and says so', async () => {
  const windowStatus = (): never => {
    throw new Error('no such day');
  };
  const { wait, isOpen, part, end } = bench({ adapter: { windowStatus } });
  await wait(1);
  assert.equal(isOpen(), false);
  assert.match(
    JSON.stringify(part(path, 'status')['conditions']),
    /"type":"Valid","status":"Unknown","reason":"InternalError".*no such day/,
  );
  await end();
});
