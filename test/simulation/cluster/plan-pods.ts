import type { EmbeddedCluster } from '@drydock/kube-sim';
import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import type { Writes } from '@drydock/kube-sim/controllers';
import { nodeOf, phaseOf } from '@drydock/kube-sim/controllers';
import { workNamespace } from '@drydock/operator';
import { Dice } from '../story/dice.ts';
import type { SimClock } from './sim-clock.ts';

/**
 * What the containers of plans do in simulated time: some images come late, each ends after some
 * seconds, well or badly, and work gives its node another boot.
 */

/** Of a node whose network is not ready yet after a boot. */
const startupTaint = { key: 'network.example.test/agent-not-ready', effect: 'NoSchedule' } as const;

function hashOf(text: string): number {
  return Buffer.from(text).reduce((sum, byte) => (sum * 31 + byte) % 1_000_000_007, 7);
}

/**
 * Milliseconds until the image of a pod of a plan is there, where it comes late; undefined of all
 * other pods.
 */
export function imageLateness(
  seed: number,
  { metadata: { namespace, name } }: Stored,
): number | undefined {
  if (namespace !== workNamespace) return undefined;
  const dice = new Dice(seed * 2 + 9_000_003 + hashOf(name));
  return dice.is(8) ? dice.whole(20, 400) * 1000 : undefined;
}

type Parts = {
  readonly cluster: EmbeddedCluster;
  readonly writes: Writes;
  readonly clock: SimClock;
};

function ended(pod: Stored, exitCode: number) {
  return {
    ...part(pod, 'status'),
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: objects(
      pod['spec'] === undefined ? [] : (part(pod, 'spec')['containers'] ?? []),
    ).map(container => ({
      name: text(container, 'name'),
      image: text(container, 'image'),
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
    })),
  };
}

/** Follows the pods until the story ends. */
export function startPlanPods({ cluster, writes, clock }: Parts, seed: number): void {
  const dice = new Dice(seed * 2 + 3_000_003);
  const { store } = cluster.registry;
  // Of dice of their own: the rest of a story is the same with taints and without.
  const taints = new Dice(seed * 2 + 10_000_003);
  const begun = new Set<string>();
  let boots = 0;

  const setTaint = (name: string, isThere: boolean): void => {
    const node = store.get('nodes', '', name);
    if (node === undefined) return;
    const others = objects(at(node, 'spec', 'taints') ?? []).filter(
      ({ key }) => key !== startupTaint.key,
    );
    writes.update('nodes', {
      ...node,
      spec: { ...part(node, 'spec'), taints: isThere ? [...others, startupTaint] : others },
    });
  };

  const reboot = (name: string): void => {
    const node = store.get('nodes', '', name);
    if (node === undefined) return;
    boots += 1;
    const nodeInfo = { ...part(node, 'status', 'nodeInfo'), bootID: `boot-${boots}` };
    writes.update('nodes', { ...node, status: { ...part(node, 'status'), nodeInfo } }, 'status');
    if (!taints.is(25)) return;
    setTaint(name, true);
    clock.after(taints.whole(1, 60) * 1000, () => setTaint(name, false));
  };

  const end = ({ metadata: { name, uid } }: Stored, exitCode: number, boot: boolean): void => {
    const pod = store.get('pods', workNamespace, name);
    if (
      pod?.metadata.uid !== uid ||
      pod.metadata.deletionTimestamp !== undefined ||
      phaseOf(pod) !== 'Running'
    )
      return;
    writes.update('pods', { ...pod, status: ended(pod, exitCode) }, 'status');
    if (boot) reboot(nodeOf(pod));
  };

  store.subscribe(({ type, object: pod }) => {
    const { namespace, uid, name } = pod.metadata;
    if (
      type === 'removed' ||
      namespace !== workNamespace ||
      phaseOf(pod) !== 'Running' ||
      begun.has(uid)
    )
      return;
    begun.add(uid);
    const prepares = name.endsWith('-ready');
    const exitCode = dice.is(prepares ? 75 : 85) ? 0 : dice.of([1, 3]);
    const boot = !prepares && dice.is(85);
    // Some never end: their time runs out.
    if (!dice.is(5)) clock.after(dice.whole(1, 20) * 1000, () => end(pod, exitCode, boot));
  }, 'pods');
}
