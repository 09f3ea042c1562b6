import { workNamespace } from '../../../src/cli/manager/controller-manager.ts';
import type { EmbeddedCluster } from '../../../src/embedded/cluster.ts';
import type { Writes } from '../../../src/embedded/controllers/controller.ts';
import { nodeOf, phaseOf } from '../../../src/embedded/controllers/pods.ts';
import { objects, part, type Stored, text } from '../../../src/embedded/object.ts';
import { Dice } from '../story/dice.ts';
import type { SimClock } from './sim-clock.ts';

/** What the containers of plans do in simulated time: each ends after some seconds, well or badly, and work gives its node another boot. */

type Parts = { readonly cluster: EmbeddedCluster; readonly writes: Writes; readonly clock: SimClock };

const ended = (pod: Stored, exitCode: number) => ({
  ...part(pod, 'status'),
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: objects(pod['spec'] === undefined ? [] : (part(pod, 'spec')['containers'] ?? [])).map(container => ({
    name: text(container, 'name'),
    image: text(container, 'image'),
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
  })),
});

/** Follows the pods until the story ends. */
export const startPlanPods = ({ cluster, writes, clock }: Parts, seed: number): void => {
  const dice = new Dice(seed * 2 + 3_000_003);
  const { store } = cluster.registry;
  const begun = new Set<string>();
  let boots = 0;

  const reboot = (name: string): void => {
    const node = store.get('nodes', '', name);
    if (node === undefined) return;
    boots += 1;
    const nodeInfo = { ...part(node, 'status', 'nodeInfo'), bootID: `boot-${boots}` };
    writes.update('nodes', { ...node, status: { ...part(node, 'status'), nodeInfo } }, 'status');
  };

  const end = ({ metadata: { name, uid } }: Stored, exitCode: number, boot: boolean): void => {
    const pod = store.get('pods', workNamespace, name);
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined || phaseOf(pod) !== 'Running') return;
    writes.update('pods', { ...pod, status: ended(pod, exitCode) }, 'status');
    if (boot) reboot(nodeOf(pod));
  };

  store.subscribe(({ type, object: pod }) => {
    const { namespace, uid, name } = pod.metadata;
    if (type === 'removed' || namespace !== workNamespace || phaseOf(pod) !== 'Running' || begun.has(uid)) return;
    begun.add(uid);
    const prepares = name.endsWith('-ready');
    const exitCode = dice.is(prepares ? 75 : 85) ? 0 : dice.of([1, 3]);
    const boot = !prepares && dice.is(85);
    // Some never end: their time runs out.
    if (!dice.is(5)) clock.after(dice.whole(1, 20) * 1000, () => end(pod, exitCode, boot));
  }, 'pods');
};
