import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { administrator, createCluster, type EmbeddedCluster, serve } from '@drydock/kube-sim';
import { systemClock } from '@drydock/utils';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { Access } from '../control-plane/objects/api.ts';
import type { ControlPlane, LeftOut } from '../control-plane/types.ts';
import { tokenOf } from '../control-plane/users.ts';
import { Hooks } from './hook.ts';
import { type Case, Site } from './site.ts';

/** The real control plane and the embedded one, side by side. */
export type Both = {
  readonly kind: 'started';
  readonly real: ControlPlane;
  readonly embedded: EmbeddedCluster;
  readonly access: { readonly real: Access; readonly embedded: Access };
  /** Runs a case on both and compares what was answered. */
  run(one: Case, id: string): Promise<void>;
  /** One of the two, for what is no case. */
  site(side: 'real' | 'embedded', id: string): Site;
  stop(): Promise<void>;
};

/** Where `random` comes from does not matter here: names are compared without it. */
function startEmbedded(): EmbeddedCluster {
  return createCluster({ clock: systemClock, random: Math.random });
}

/** Controllers would only be in the way: cases play them. `flags` are the real API server's. */
export async function startBoth(flags: readonly string[] = []): Promise<Both | LeftOut> {
  const real = await startControlPlane({
    users: { limited: [] },
    without: ['kube-controller-manager', 'kube-scheduler', 'kwok'],
    flags: { 'kube-apiserver': flags },
  });
  if (real.kind === 'left-out') return real;
  if (real.external) {
    await real.stop();
    return {
      kind: 'left-out',
      why: 'the cluster of DRYDOCK_TEST_KUBECONFIG has controllers, which would answer too',
    };
  }
  const embedded = startEmbedded();
  // kubectl sends no token over plain HTTP, so the embedded one borrows the certificate of the
  // other.
  const pem = (name: string): string => readFileSync(join(real.folder, name), 'utf8');
  const serving = await serve(embedded, {
    tokens: {
      [tokenOf('admin')]: administrator,
      [tokenOf('limited')]: { name: 'limited', groups: ['system:authenticated'] },
    },
    tls: { certificate: pem('server.crt'), key: pem('server.key') },
  });
  const access = {
    real: real.accessOf('admin'),
    embedded: { server: serving.url, token: tokenOf('admin'), ca: pem('ca.crt') },
  };
  const hooks = await Hooks.start(real.folder);
  const agents = { real: new Agent({ keepAlive: true }), embedded: new Agent({ keepAlive: true }) };
  const siteOf = (side: 'real' | 'embedded', id: string, protobuf = false): Site =>
    new Site(
      access[side],
      id,
      agents[side],
      answer => hooks.at(`/${side}/${id}`, answer),
      protobuf,
    );
  const play = async (
    side: 'real' | 'embedded',
    one: Case,
    id: string,
  ): Promise<readonly unknown[]> => {
    const site = siteOf(side, id, one.protobuf);
    if (one.bare !== true)
      await site.has('/api/v1/namespaces', { metadata: { name: site.namespace } });
    await one.run(site);
    return site.transcript;
  };
  return {
    kind: 'started',
    real,
    embedded,
    access,
    site: siteOf,
    run: async (one, id) => {
      const [wanted, got] = await Promise.all([play('real', one, id), play('embedded', one, id)]);
      assert.ok(wanted.length > 0, 'the case compares nothing');
      for (const [index, answer] of wanted.entries()) assert.deepEqual(got[index], answer);
      assert.equal(got.length, wanted.length);
    },
    stop: async () => {
      for (const agent of Object.values(agents)) agent.destroy();
      await serving.close();
      await hooks.stop();
      await real.stop();
    },
  };
}
