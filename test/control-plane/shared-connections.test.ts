import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CachedObject } from '@drydock/kube-client';
import { connect } from '@drydock/kube-client';
import { type OperatorHarness, skipOf, startHarness } from '../operator/harness/harness.ts';
import { waitFor } from './wait.ts';

/** Watches of a real API server share HTTP/2 connections. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const watches = 150;

type Raw = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly data?: { readonly turn?: string };
};
type Seen = CachedObject & { readonly turn: string };

function read(raw: unknown): Seen {
  const { metadata, data } = raw as Raw;
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    turn: data?.turn ?? '',
  };
}

function tlsConnections(): number {
  return process
    .getActiveResourcesInfo()
    .filter(name => name === 'TLSWrap' || name === 'TCPSocketWrap').length;
}

describe('a hundred and fifty watches', { skip, timeout: 120_000 }, () => {
  after(() => harness.stop());

  for (const [what, env, most] of [
    // kube-apiserver takes 100 streams a connection.
    ['share two connections', {}, 2],
    ['have a connection each when HTTP/2 is switched off', { DISABLE_HTTP2: 'true' }, watches],
  ] as const) {
    test(`they ${what}, and go on when the API server has been restarted`, async () => {
      const { api, controlPlane } = harness;
      await using stack = new AsyncDisposableStack();
      const before = tlsConnections();
      const connection = await connect({
        kubeconfig: controlPlane.kubeconfigOf('admin'),
        env,
        userAgent: 'test',
      });
      stack.defer(() => connection.close());
      const stop = new AbortController();
      stack.defer(() => stop.abort());
      const collection = '/api/v1/namespaces/default/configmaps';
      const name = most === 2 ? 'shared' : 'single';
      await api.post(collection, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        data: { turn: '0' },
      });
      const turns = Array.from({ length: watches }, () => 'none');
      const running = turns.map((_, index) =>
        connection.watch<Seen>(
          { path: collection, fieldSelector: `metadata.name=${name}` },
          read,
          {
            changed: ({ object }) => {
              turns[index] = object.turn;
            },
            synced: () => {},
            failing: () => {},
          },
          stop.signal,
        ),
      );
      const allSee = (turn: string): Promise<unknown> =>
        waitFor(
          `all watches to see turn ${turn}`,
          async () => {
            const others = turns.filter(seen => seen !== turn);
            return others.length === 0
              ? { done: turn }
              : { yet: `${others.length} have not, one is at ${others[0]}` };
          },
          { deadlineMs: 60_000 },
        );
      const set = (turn: string) => api.patch(`${collection}/${name}`, { data: { turn } });
      await allSee('0');
      await set('1');
      await allSee('1');
      // Calls have 32 places.
      const open = tlsConnections() - before;
      assert.ok(most === 2 ? open <= most + 32 : open >= most, `${open} connections`);
      if (!controlPlane.external) await controlPlane.restart('kube-apiserver');
      await set('2');
      await allSee('2');
      stop.abort();
      await Promise.all(running);
    });
  }
});
