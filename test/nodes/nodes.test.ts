import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { root } from '../../tools/release/paths.ts';
import {
  create,
  getNode,
  nodesReady,
  podPath,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { isReady, type List, type Pod } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { figure, seconds } from './figures.ts';
import {
  lifeOf,
  podGone,
  podReady,
  realDeployment,
  realPod,
  realService,
  restartsOf,
  staticPod,
} from './pods.ts';
import { onBed, productImage, untilSettled } from './product.ts';
import { takeSlot } from './slot.ts';

/** The nodes by themselves: what the other files of this folder stand on. */

const started = await startBed({ nodes: 2, product: true });
const skip = skipOf(started);
const bed = started as NodeBed;
const space = 'harness';
/** Of cgroup v2, or of one controller of v1. */
const groupFolders = ['/sys/fs/cgroup', '/sys/fs/cgroup/memory'].filter(existsSync);

type WithInfo = {
  readonly status: {
    readonly nodeInfo: { readonly bootID: string; readonly kubeletVersion: string };
  };
};
type Event = { readonly reason: string };

function containerIdOf({ status }: Pod): string | undefined {
  return (status as { readonly containerStatuses?: readonly { readonly containerID?: string }[] })
    .containerStatuses?.[0]?.containerID;
}

describe('real nodes', { skip, timeout: 240_000 }, () => {
  const { api, nodes } = bed;
  before(() => create(api, namespace(space)));
  /** Whatever a test that failed has left off. */
  afterEach(async () => {
    for (const node of nodes) if (!node.isOn) await node.boot();
  });
  after(() => bed.stop());

  const bootIdOf = async (name: string): Promise<string> =>
    ((await getNode(api, name)) as unknown as WithInfo).status.nodeInfo.bootID;

  const anotherBootId = (name: string, than: string): Promise<string> =>
    waitFor(
      `another boot ID of ${name}`,
      async () => {
        const bootId = await bootIdOf(name);
        return bootId === than ? { yet: bootId } : { done: bootId };
      },
      { deadlineMs: 60_000 },
    );

  test('a pod runs, and its process hears of its end', async () => {
    await create(api, realPod('solo', { namespace: space, termSeconds: 1 }));
    await podsReady(api, space, 1);
    const life = lifeOf(api, space, 'solo');
    await api.delete(podPath(space, 'solo'));
    const { SIGTERM = 0, ended = 0 } = await life;
    assert.ok(
      ended - SIGTERM >= 1000 && ended - SIGTERM < 3000,
      `${ended - SIGTERM} ms between SIGTERM and the end`,
    );
    await podGone(api, space, 'solo');
  });

  test('a service answers on every node', async () => {
    await create(api, realDeployment('web', 2, { namespace: space }), realService('web', space));
    await podsReady(api, space, 2);
    const { spec } = await api.get<{ readonly spec: { readonly clusterIP: string } }>(
      `/api/v1/namespaces/${space}/services/web`,
    );
    for (const node of nodes)
      await until(`the service to answer on ${node.name}`, async () => {
        const { stdout } = await node.exec('/opt/own/workload', 'get', `http://${spec.clusterIP}/`);
        return stdout.startsWith('web-');
      });
    await api.delete(`/apis/apps/v1/namespaces/${space}/deployments/web`, {
      propagationPolicy: 'Background',
    });
    await podsReady(api, space, 0);
  });

  test('a kubelet may not touch the other node', async () => {
    const kubelet = bed.controlPlane.apiOf('node-1');
    const patch = (name: string) =>
      kubelet.call(
        'PATCH',
        `/api/v1/nodes/${name}`,
        { metadata: { annotations: { a: 'b' } } },
        'application/merge-patch+json',
      );
    assert.deepEqual([(await patch('node-1')).status, (await patch('node-2')).status], [200, 403]);
  });

  test('a static pod has a mirror, which its node owns', async () => {
    staticPod(bed.node('node-1'), 'still', space);
    const [mirror] = await podsReady(api, space, 1);
    assert.deepEqual(
      [mirror?.metadata.name, mirror?.metadata.ownerReferences?.[0]?.kind],
      ['still-node-1', 'Node'],
    );
    assert.ok(mirror?.metadata.annotations?.['kubernetes.io/config.mirror']);
  });

  /**
   * The simulated kubelets of the embedded cluster do the same
   * (packages/kube-sim/src/actors/node-info.ts).
   */
  test('a mirror that is deleted comes back when its kubelet syncs the pod again, and the containers run on', async t => {
    staticPod(bed.node('node-1'), 'forced', space);
    const mirrors = await podsReady(api, space, 2);
    const comesBack = async (
      { metadata: { name, uid } }: Pod,
      gracePeriodSeconds: number,
    ): Promise<void> => {
      const path = podPath(space, name);
      const container = containerIdOf(await api.get<Pod>(path));
      const since = performance.now();
      await api.delete(path, { gracePeriodSeconds });
      const again = await waitFor(
        `another ${name}`,
        async () => {
          const { status, body } = await api.call('GET', path);
          const pod = body as Pod;
          return status === 200 && pod.metadata.uid !== uid && isReady(pod)
            ? { done: pod }
            : { yet: JSON.stringify(body).slice(0, 500) };
        },
        // A sync comes 60 to 90 s after the one before it.
        { deadlineMs: 120_000 },
      );
      figure(
        t,
        `a mirror deleted with ${gracePeriodSeconds} s of grace, until there is another`,
        seconds(performance.now() - since),
      );
      assert.equal(containerIdOf(again), container);
    };
    await Promise.all(
      mirrors.map(pod => comesBack(pod, pod.metadata.name === 'forced-node-1' ? 0 : 30)),
    );
  });

  test('what a test that was killed has left is taken away by the next', async t => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'killed.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const number = Number(line);
    const left = (): readonly string[] =>
      [
        ...readdirSync('/sys/class/net'),
        ...groupFolders.flatMap(folder => readdirSync(folder)),
      ].filter(name => name.startsWith(`drydock-${number}`) || name === `drydock-nodes-${number}`);
    assert.ok(left().length >= 2, String(line));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const held = [takeSlot()];
    while ((held.at(-1)?.number ?? number) < number) held.push(takeSlot());
    const stale = left().filter(name => name !== `drydock-${number}`);
    const isOurs = held.some(slot => slot.number === number);
    for (const slot of held) slot.release();
    if (isOurs) assert.deepEqual(stale, []);
    else t.skip('somebody else has taken the number at once, and with that what was left');
  });

  test('a reboot gives another boot ID and the event Rebooted, and a shutdown ends pods by SIGTERM', async () => {
    const node = bed.node('node-2');
    await create(api, realPod('rider', { namespace: space, onNode: 'node-2', localData: true }));
    const { metadata } = await podReady(api, space, 'rider');
    const life = `var/lib/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~empty-dir/data/life`;
    const first = await bootIdOf('node-2');
    await node.reboot();
    const second = await anotherBootId('node-2', first);
    await until('the event', async () => {
      const query = 'fieldSelector=reason=Rebooted,involvedObject.name=node-2';
      return (await api.get<List<Event>>(`/api/v1/events?${query}`)).items.length === 1;
    });
    await until(
      'the pod to run again',
      async () => restartsOf(await podReady(api, space, 'rider')) === 1,
    );
    await node.shutDown();
    // Its log is not to be trusted here: containerd, which writes it, is told to end as well.
    assert.match(readFileSync(node.path(life), 'utf8'), / started\n\S+ SIGTERM\n\S+ ended\n$/);
    await node.boot();
    await anotherBootId('node-2', second);
    await nodesReady(api, ['node-2']);
  });

  test('drydock install --apply, then kubectl apply --server-side -k of the same: who owns what', async t => {
    const installed = await onBed(bed, 'install', '--image', productImage, '--apply');
    assert.equal(installed.code, 0, installed.stderr);
    figure(t, 'drydock install --apply warns', JSON.stringify(installed.stderr));
    await untilSettled(bed);
    const folder = join(bed.controlPlane.folder, 'kustomized');
    mkdirSync(folder);
    const resources = [relative(folder, join(root, 'deploy', 'default'))];
    const [newName, newTag] = productImage.split(':');
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      JSON.stringify({ resources, images: [{ name: 'drydock', newName, newTag }] }),
    );
    const applied = await bed.controlPlane.kubectl(['apply', '--server-side', '-k', folder]);
    figure(
      t,
      'kubectl apply --server-side -k says',
      `exit code ${applied.code}: ${JSON.stringify(applied.stderr)}`,
    );
    assert.doesNotMatch(applied.stderr, /conflict/);
    assert.equal(applied.code, 0, applied.stderr);
    const again = await onBed(bed, 'install', '--image', productImage, '--apply');
    figure(
      t,
      'drydock install --apply after that',
      `exit code ${again.code}: ${JSON.stringify(again.stderr)}`,
    );
    assert.deepEqual(
      [again.code, again.stdout.split('\n').filter(line => !/ unchanged$|^$/.test(line))],
      [0, []],
    );
  });
});
