import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { administrator, createCluster, serve } from '@drydock/kube-sim';
import { systemClock } from '@drydock/utils';
import { type Leaving, leavingBoth } from '../conformance/scenarios/account.ts';
import { chapters } from '../conformance/scenarios/chapters.ts';
import { flags, openSide, type Side, startSides } from '../conformance/scenarios/sides.ts';
import { ensureBinaries } from '../control-plane/binaries.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { type Running, start } from '../control-plane/processes/process.ts';
import { programOf } from '../control-plane/programs.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { withEmptyKinds } from './empty-kinds.ts';

/**
 * Kubernetes' own scheduler and controllers, and kwok, on the embedded API server, whose own
 * controllers are not started: the scenarios of the conformance tier, compared with a whole real
 * control plane.
 */

const programs = ['kube-controller-manager', 'kube-scheduler', 'kwok'] as const;

async function startOnEmbedded(real: ControlPlane): Promise<Side & { close(): Promise<void> }> {
  const binaries = await ensureBinaries();
  if (binaries.kind === 'left-out') throw new Error(binaries.why);
  const pem = (name: string): string => readFileSync(join(real.folder, name), 'utf8');
  const cluster = withEmptyKinds(createCluster({ clock: systemClock, random: Math.random }));
  const tls = { certificate: pem('server.crt'), key: pem('server.key') };
  const serving = await serve(cluster, { tokens: { admin: administrator }, tls });
  const access = { server: serving.url, token: 'admin', ca: pem('ca.crt') };
  const kubeconfig = writeKubeconfig(join(real.folder, 'embedded.kubeconfig'), 'admin', access);
  const ports = { etcdPort: 0, peerPort: 0, apiPort: 0 };
  const { release, controlplane, kwok, attend } = binaries;
  const about = {
    folder: real.folder,
    minor: release.minor,
    controlplane,
    kwok,
    audit: false,
    aggregation: false,
    ...ports,
  };
  const running: Running[] = programs.map(name => {
    const program = programOf({ ...about, flags, kubeconfigOf: () => kubeconfig }, name);
    return start({ kind: 'attend', path: attend }, real.folder, {
      ...program,
      name: `embedded-${name}`,
    });
  });
  const side = await openSide(access);
  const close = async (): Promise<void> => {
    await Promise.all(running.map(one => one.stop()));
    await serving.close();
  };
  return { ...side, close };
}

/**
 * How often the scheduler has tried before its cache knew of a node, and whether the controller of
 * volumes has seen a volume before its claim, is chance on either side; and events.k8s.io is not
 * served, so the scheduler records in the old way, which combines similar events.
 */
const chance: Leaving = { events: ['FailedScheduling', 'ProvisioningFailed'] };

/** Scenarios in which the controllers race with themselves. */
const races = new Map<string, Leaving>([
  // The condition of the new set is lost when its write meets another one of the status; nothing
  // writes it again.
  [
    'recreation: all old pods go before the first new one comes',
    { courses: ['deployments'], final: ['deployments'] },
  ],
]);

const sides = await startSides(startOnEmbedded);
const skip = sides.kind === 'left-out' ? `control plane left out: ${sides.why}` : false;

describe("Kubernetes' own controllers live on the embedded API server as on a real one", {
  skip,
  timeout: 900_000,
  concurrency: 12,
}, () => {
  after(async () => {
    if (sides.kind === 'started') await sides.stop();
  });
  for (const [chapter, scenarios] of Object.entries(chapters)) {
    for (const [index, one] of scenarios.entries()) {
      test(`${chapter}: ${one.name}`, async () => {
        if (sides.kind === 'started')
          await sides.run(
            one,
            `${chapter.replaceAll(' ', '-')}-${index}`,
            leavingBoth(chance, races.get(one.name) ?? {}),
          );
      });
    }
  }
});
