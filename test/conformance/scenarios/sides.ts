import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stored } from '@drydock/kube-sim';
import { administrator, ClusterRuntime, createCluster, serve } from '@drydock/kube-sim';
import type { Pace } from '@drydock/kube-sim/actors';
import { systemClock } from '@drydock/utils';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import { type Access, type Api, apiFor } from '../../control-plane/objects/api.ts';
import { namespace } from '../../control-plane/objects/manifests.ts';
import type { ControlPlane, LeftOut } from '../../control-plane/types.ts';
import { type Account, accountOf, type Leaving, leavingBoth } from './account.ts';
import { differenceOf } from './difference.ts';
import { Place } from './place.ts';
import { Recorder } from './recorder.ts';

/** Something that happens in a cluster: done on both sides, and both have to tell the same. */
export type Scenario = {
  /** What is true. */
  readonly name: string;
  readonly run: (at: Place) => Promise<void>;
  readonly leaving?: Leaving;
};

export type Side = { readonly api: Api; readonly recorder: Recorder };

export type Sides = {
  readonly kind: 'started' /** `more` is left out beside what the scenario leaves out itself. */;
  run(one: Scenario, id: string, more?: Leaving): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Kwok's pace, as stages/pods.yaml of the control plane has it; kwok's pods do not say that they
 * have ended before they are gone.
 */
const pace: Pace = { startMs: 500, stopMs: 1000, spread: 0, saysEnd: 'none' };

/**
 * Nodes are looked at more often than usual, and lost as late: kwok renews every 10 s, and was 13 s
 * late where the machine had other work.
 */
const nodeHealth = { periodMs: 500, graceMs: 50_000 };
export const flags = {
  'kube-controller-manager': ['--node-monitor-period=500ms', '--node-monitor-grace-period=50s'],
};

/** The nodes that kwok plays the kubelet of. */
function isAlive({ metadata }: Stored): boolean {
  return metadata.annotations?.['kwok.x-k8s.io/node'] === 'fake';
}

export async function openSide(access: Access): Promise<Side> {
  const side = { api: apiFor(access), recorder: new Recorder() };
  await side.recorder.start(side.api);
  return side;
}

async function startEmbedded(real: ControlPlane): Promise<Side & { close(): Promise<void> }> {
  const cluster = createCluster({ clock: systemClock, random: Math.random });
  const runtime = new ClusterRuntime({
    registry: cluster.registry,
    clock: systemClock,
    pace,
    nodeHealth,
    isAlive,
    record: 'events',
  });
  runtime.start();
  const pem = (name: string): string => readFileSync(join(real.folder, name), 'utf8');
  const token = 'scenarios';
  const serving = await serve(cluster, {
    tokens: { [token]: administrator },
    tls: { certificate: pem('server.crt'), key: pem('server.key') },
  });
  const side = await openSide({ server: serving.url, token, ca: pem('ca.crt') });
  const close = async (): Promise<void> => {
    runtime.stop();
    await serving.close();
  };
  return { ...side, close };
}

/** Nothing has happened for so long that nothing seems to be under way any more. */
const quietMs = 300;
/**
 * A scheduler writes its events one after the other, for all scenarios together: 4.3 s late on an
 * idle machine, 30 s on one with four times its work.
 */
const patienceMs = 120_000;

/**
 * Whatever is still under way comes to an end: both sides are looked at whenever they are quiet,
 * until they agree or time is up.
 */
async function agree(places: readonly [Place, Place], leaving: Leaving): Promise<void> {
  const [real, embedded] = places;
  const until = performance.now() + patienceMs;
  const told = (): readonly [Account, Account] => [
    accountOf(real, leaving),
    accountOf(embedded, leaving),
  ];
  for (;;) {
    const quiet = places.every(({ scope }) => performance.now() - scope.lastMs > quietMs);
    const late = performance.now() > until;
    if (quiet || late) {
      const [wanted, got] = told();
      const difference = differenceOf(got, wanted);
      if (difference === '') return;
      assert.ok(!late, `embedded (+) and real (-) differ:\n${difference}`);
    }
    await sleep(50);
  }
}

/** Starts what is compared with the real control plane; its certificates may be borrowed. */
type StartOther = (real: ControlPlane) => Promise<Side & { close(): Promise<void> }>;

/**
 * The real control plane with all its controllers, and the embedded one: with its own controllers,
 * unless `startOther` gives it others.
 */
export async function startSides(startOther: StartOther = startEmbedded): Promise<Sides | LeftOut> {
  const plane = await startControlPlane({ flags });
  if (plane.kind === 'left-out') return plane;
  if (plane.external) {
    await plane.stop();
    return {
      kind: 'left-out',
      why: 'the cluster of DRYDOCK_TEST_KUBECONFIG has a kubelet of its own, at its own pace',
    };
  }
  const real = await openSide(plane.accessOf('admin'));
  const embedded = await startOther(plane);
  const play = async ({ api, recorder }: Side, one: Scenario, id: string): Promise<Place> => {
    await api.post('/api/v1/namespaces', namespace(`s-${id}`));
    const place = new Place(api, id, recorder.scope(`s-${id}`));
    await one.run(place);
    if (recorder.failure !== undefined) throw recorder.failure;
    return place;
  };
  return {
    kind: 'started',
    run: async (one, id, more = {}) => {
      await agree(
        await Promise.all([play(real, one, id), play(embedded, one, id)]),
        leavingBoth(one.leaving ?? {}, more),
      );
    },
    stop: async () => {
      for (const { api, recorder } of [real, embedded]) {
        await recorder.stop();
        api.close();
      }
      await embedded.close();
      await plane.stop();
    },
  };
}
