import { ClusterRuntime, createCluster, seeded, serve } from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import {
  kubeVirtDefinitions,
  kubeVirtObjects,
  SimulatedKubeVirt,
} from '@drydock/kube-sim/kubevirt';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { systemClock, VirtualClock } from '@drydock/utils';
import { type Api, clientsFor, type Reply } from '../control-plane/objects/api.ts';
import { apply } from '../control-plane/objects/cluster.ts';
import { tokenOf } from '../control-plane/users.ts';
import type { waitFor } from '../control-plane/wait.ts';
import { callers, type Site } from './contract.ts';
import { vmsOn } from './vms.ts';

type Cluster = ReturnType<typeof createCluster>;

/** A client of a cluster in this process; what it asks takes no time. */
function clientOf(cluster: Cluster): Api {
  const call: Api['call'] = async (
    method,
    path,
    body,
    contentType = 'application/json',
    accept = 'application/json',
  ): Promise<Reply> => {
    const url = new URL(path, 'http://in-process');
    const response = await cluster.respond({
      method,
      path: url.pathname,
      query: new Map(url.searchParams),
      accept,
      contentType,
      userAgent: 'drydock-test',
      body: body === undefined ? { kind: 'none' } : { kind: 'json', value: structuredClone(body) },
    });
    if (response.kind === 'watch') throw new Error(`${path} is a watch: it is not called`);
    return { status: response.status, body: structuredClone(response.body) };
  };
  const expect = async (...asked: Parameters<Api['call']>): Promise<unknown> => {
    const { status, body } = await call(...asked);
    if (status > 299) throw new Error(`${asked[0]} ${asked[1]}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  return {
    call,
    get: async <T>(path: string) => (await expect('GET', path)) as T,
    post: async <T>(path: string, body: unknown) => (await expect('POST', path, body)) as T,
    put: async <T>(path: string, body: unknown) => (await expect('PUT', path, body)) as T,
    patch: async <T>(path: string, body: unknown) =>
      (await expect('PATCH', path, body, 'application/merge-patch+json')) as T,
    delete: async (path, body) => {
      const { status } = await call('DELETE', path, body);
      if (status > 299 && status !== 404) throw new Error(`DELETE ${path}: ${status}`);
    },
    watch: () => Promise.reject(new Error('nothing is watched here')),
    close: () => {},
  };
}

/** Waits in simulated time. */
function waitOn(clock: VirtualClock): typeof waitFor {
  return async (what, check, patience) => {
    const { deadlineMs = 30_000, everyMs = 50 } = patience ?? {};
    let last = '';
    for (let waited = 0; waited <= deadlineMs; waited += everyMs) {
      const seen = await check().catch((error: unknown) => ({ yet: String(error) }));
      if ('done' in seen) return seen.done;
      last = seen.yet;
      await clock.advance(everyMs);
    }
    throw new Error(`waited ${deadlineMs} ms for ${what}; last seen: ${last}`);
  };
}

/** Over HTTPS it knows who asks. */
async function servedTo(
  cluster: Cluster,
): Promise<{ readonly as: Site['as']; readonly close: () => Promise<void> }> {
  const tokens = Object.fromEntries(
    Object.keys(callers).map(name => [tokenOf(name), { name, groups: ['system:authenticated'] }]),
  );
  const now = systemClock.now();
  const authority = await makeAuthority(now);
  const { cert, key } = await makeServing(authority, ['127.0.0.1'], now);
  const serving = await serve(cluster, { tokens, tls: { certificate: cert, key } });
  const { apiOf, close } = clientsFor(user => ({
    server: serving.url,
    ca: authority.cert,
    token: tokenOf(user),
  }));
  return {
    as: user => apiOf(user),
    close: async () => {
      close();
      await serving.close();
    },
  };
}

/**
 * An embedded cluster with a simulated KubeVirt, in simulated time. Pods take as long as on the
 * control plane of the tests.
 */
export async function simulatedSite(): Promise<Site & { end(): Promise<void> }> {
  const clock = new VirtualClock();
  const kubevirt = new SimulatedKubeVirt();
  const random = seeded(1);
  const cluster = createCluster({ clock, random, extensions: [kubevirt.extension()] });
  const runtime = new ClusterRuntime({
    registry: cluster.registry,
    clock,
    pace: { startMs: 500, stopMs: 1000, spread: 0 },
    more: kubevirt.controllers(),
  });
  const writes = writesOn(cluster.registry);
  for (const one of kubeVirtDefinitions)
    writes.create('customresourcedefinitions.apiextensions.k8s.io', one);
  runtime.start();
  const api = clientOf(cluster);
  await apply(
    api,
    kubeVirtObjects()
      .map(object => JSON.stringify(object))
      .join('\n---\n'),
  );
  const wait = waitOn(clock);
  const { as, close } = await servedTo(cluster);
  return {
    as,
    api,
    vms: vmsOn(api, wait),
    wait,
    pass: milliseconds => clock.advance(milliseconds),
    part: async (name, isThere) => kubevirt.set(name, isThere),
    end: async () => {
      runtime.stop();
      await close();
    },
  };
}
