import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '@drydock/apis';
import type { ApiCall } from '@drydock/kube-client';
import { PanicHandler } from '@drydock/utils';
import { FakeLog } from '../testing/fakes.ts';
import { prepareLeaseNamespaces } from './webhook.ts';

const adapters = served({ leaseNamespace: 'leases', operatorNamespace: 'leases' });

async function prepared(statuses: Readonly<Record<string, number>>) {
  const calls: string[] = [];
  const log = new FakeLog();
  const call = async ({ method, path, query }: ApiCall) => {
    const asked = `${method} ${path}${query?.['dryRun'] === undefined ? '' : ' dry run'}`;
    calls.push(asked);
    const status = statuses[asked] ?? 500;
    if (status === 0) throw new Error('connection refused');
    return { status, headers: {}, body: { kind: 'Status', message: `said ${status}` } };
  };
  await prepareLeaseNamespaces(
    {
      api: { call },
      log,
      defects: new PanicHandler({ log }),
      signal: new AbortController().signal,
    },
    adapters,
  );
  return { calls, log };
}

const lease = 'POST /apis/coordination.k8s.io/v1/namespaces/leases/leases dry run';
const namespace = 'POST /api/v1/namespaces';

test('a namespace that is there is asked for once, without anything stored', async () => {
  const { calls, log } = await prepared({ [lease]: 201 });
  assert.deepEqual([calls, log.lines], [[lease], []]);
});

test('one that is missing is made', async () => {
  const { calls, log } = await prepared({ [lease]: 404, [namespace]: 201 });
  assert.deepEqual(calls, [lease, namespace]);
  assert.deepEqual(log.of('info'), ['created the namespace of the node leases']);
});

test('one that may not be made is told in one line, with the command that makes it; so is a right that is missing', async () => {
  const missing = await prepared({ [lease]: 404, [namespace]: 403 });
  assert.deepEqual(
    missing.log.lines.map(({ level, fields }) => [level, fields['command'], fields['error']]),
    [['warn', 'kubectl create namespace leases', 'said 403']],
  );
  const forbidden = await prepared({ [lease]: 403 });
  assert.deepEqual(forbidden.calls, [lease]);
  assert.match(
    String(forbidden.log.lines[0]?.fields['command']),
    /^kubectl create rolebinding drydock-node-leases --namespace leases /,
  );
});

test('what cannot be asked keeps nobody from starting', async () => {
  const { log } = await prepared({ [lease]: 0 });
  assert.deepEqual(log.of('warn'), []);
});
