import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { budgetAllows, create, getNode } from '../control-plane/objects/cluster.ts';
import { type Manifest, namespace } from '../control-plane/objects/manifests.ts';
import type { List, Node } from '../control-plane/objects/objects.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { makeNode, remove, untilFace, untilGone, untilPods } from '../operator/harness/look.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';
import { sectionOf } from './guide.ts';
import { allOld, collectionOfOld, type Old } from './old.ts';
import { harnessIn } from './predecessor.ts';
import { isClosedFor, oldLease } from './replay.ts';
import {
  atOnce,
  guardedPod,
  maintenanceOf,
  own,
  pathOfOld,
  quickPod,
  relax,
  untilOld,
} from './situations.ts';
import { Kubelet, Shell } from './workshop.ts';

/** docs/migrate.md, step by step as it is written, with maintenances under way. */

const started = await startControlPlane({ users: { drydock: operatorUsers.drydock } });
const ready = started.kind === 'started' && !started.external;
const why =
  started.kind === 'left-out'
    ? started.why
    : "somebody else's cluster may have an operator of its own";
const controlPlane = started as ControlPlane;

/** How an older operator was installed. */
type Place = {
  readonly namespace: string;
  readonly deployment: string;
  readonly podLabels: Readonly<Record<string, string>>;
  readonly webhooks: string;
};

const places: Readonly<Record<string, Place>> = {
  'medik8s-main': {
    namespace: 'node-maintenance-operator-system',
    deployment: 'node-maintenance-operator-controller-manager',
    podLabels: { 'control-plane': 'controller-manager' },
    webhooks: 'node-maintenance-operator-validating-webhook-configuration',
  },
  'kubevirt-0.11.3': {
    namespace: 'node-maintenance',
    deployment: 'node-maintenance-operator',
    podLabels: { name: 'node-maintenance-operator' },
    webhooks: 'nodemaintenance-validation.kubevirt.io',
  },
};

function deploymentAt({ namespace, deployment, podLabels }: Place): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: deployment, namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: podLabels },
      template: {
        metadata: { labels: podLabels, annotations: atOnce },
        spec: { containers: [{ name: 'manager', image: 'example.test/older-operator:1' }] },
      },
    },
  };
}

/** Nobody answers it here, and it fails closed: a step that forgets it cannot be done. */
function webhookAt({ namespace, webhooks }: Place, { apiVersion }: Old): Manifest {
  const [group = '', version = ''] = apiVersion.split('/');
  const entry = {
    name: 'vnodemaintenance.kb.io',
    clientConfig: { service: { name: 'webhook-service', namespace, path: '/validate' } },
    rules: [
      {
        apiGroups: [group],
        apiVersions: [version],
        operations: ['CREATE', 'UPDATE'],
        resources: ['nodemaintenances'],
      },
    ],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: webhooks },
    webhooks: [entry],
  };
  return configuration;
}

describe('docs/migrate.md', { skip: ready ? false : `left out: ${why}`, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  const history: Node[] = [];
  const watching = new AbortController();
  let kubelet: Kubelet;
  let shell: Shell;

  before(async () => {
    kubelet = new Kubelet(controlPlane);
    shell = new Shell(controlPlane);
    const crds = (
      await drydock(['crds', 'nodemaintenance.medik8s.io', 'nodemaintenance.kubevirt.io'])
    ).stdout;
    // As an older operator's CRD that somebody else has installed.
    assert.equal((await controlPlane.kubectl(['apply', '-f', '-'], { input: crds })).code, 0);
    for (const old of allOld)
      await until(
        `${old.name} to be served`,
        async () => (await api.call('GET', collectionOfOld(old))).status === 200,
      );
    await create(api, namespace('medik8s-leases'));
    for (const place of Object.values(places)) await create(api, namespace(place.namespace));
    // Where the pods of the operators run.
    await makeNode(api, 'worker-1');
    const { metadata } = await api.get<List<Node>>('/api/v1/nodes');
    // A test that fails leaves it behind: it ends with the control plane then.
    api
      .watch<Node>(
        '/api/v1/nodes',
        metadata.resourceVersion,
        ({ object }) => void history.push(object),
        watching.signal,
      )
      .catch(() => {});
    kubelet.begin();
  });
  after(async () => {
    watching.abort();
    try {
      await kubelet.stop();
    } finally {
      await controlPlane.stop();
    }
  });

  type Moving = {
    readonly old: Old;
    readonly place: Place;
    readonly done: string;
    readonly blocked: string;
    readonly dying: string;
    readonly faces: ReadonlyMap<string, object>;
  };

  /**
   * The older operator at work: one node is done, one is blocked, one is to be released when nobody
   * is there.
   */
  const atWork = async (old: Old): Promise<Moving> => {
    const place = places[old.name];
    assert.ok(place);
    const [done, blocked, dying] = [
      `${old.short}-done`,
      `${old.short}-blocked`,
      `${old.short}-dying`,
    ];
    const faces = new Map<string, object>();
    await Promise.all(
      [done, blocked, dying].map(
        async name => void faces.set(name, await makeNode(api, name, own)),
      ),
    );
    await guardedPod(api, blocked);
    await create(api, namespace(done), quickPod(done, 'free'));
    await untilPods(api, blocked, 1);
    await budgetAllows(api, blocked, 'guarded', 0);
    kubelet.play({
      namespace: place.namespace,
      name: place.deployment,
      operator: harnessIn(api, old),
    });
    await create(
      api,
      deploymentAt(place),
      ...[done, blocked, dying].map(name => maintenanceOf(old, name)),
    );
    await Promise.all([done, dying].map(name => untilOld(api, old, name, 'Succeeded')));
    await untilOld(api, old, blocked, 'Running', status => status?.['lastError'] !== undefined);
    await create(api, webhookAt(place, old));
    return { old, place, done, blocked, dying, faces };
  };

  /**
   * The watch may be behind: what is to be seen from here on begins when it has told of the hold.
   */
  const settled = ({ old, done, blocked }: Moving): Promise<void> =>
    until('the nodes to be held, as the watch tells it', async () => {
      const now = await Promise.all([done, blocked].map(name => getNode(api, name)));
      const isTold = (node: Node): boolean =>
        history.findLast(({ metadata }) => metadata.name === node.metadata.name)?.metadata
          .resourceVersion === node.metadata.resourceVersion;
      return now.every(node => isClosedFor(old, node) && isTold(node));
    });

  /** Without a moment in which something could have been scheduled on it. */
  const stayedHeld = ({ old, done, blocked }: Moving, mark: number): void => {
    for (const name of [done, blocked]) {
      for (const state of history.slice(mark).filter(({ metadata }) => metadata.name === name)) {
        assert.ok(isClosedFor(old, state), `${name}: ${JSON.stringify(state.spec)}`);
      }
    }
  };

  const isTakenOver = (printed: string, names: readonly string[]): boolean =>
    names.every(name => new RegExp(`^${name} +\\S+ +taken-over$`, 'm').test(printed));

  const givenBack = async ({ old, faces }: Moving, name: string): Promise<void> => {
    await remove(api, pathOfOld(old, name));
    await untilFace(api, name, faces.get(name) ?? {});
  };

  /** Steps 1 to 5 of the way to Drydock. */
  const move = async (moving: Moving, heading: string, way: string): Promise<void> => {
    const { old, place, done, blocked, dying } = moving;
    const section = sectionOf(heading);
    await settled(moving);
    const mark = history.length;
    const lease = await oldLease(api, old, done);
    assert.match(
      await shell.run(section, way, 1),
      new RegExp(`^${done} +${done} +Succeeded$`, 'm'),
    );
    await shell.run(section, way, 2);
    await api.delete(pathOfOld(old, dying));
    assert.match(
      await shell.run(section, way, 3),
      new RegExp(`^${place.webhooks} .*${old.apiVersion.split('/')[0]}`, 'm'),
    );
    await shell.run(section, way, 4);
    await until('all to be taken over', async () =>
      isTakenOver(await shell.run(section, way, 5), [done, blocked]),
    );
    await untilGone(api, pathOfOld(old, dying));
    await untilFace(api, dying, moving.faces.get(dying) ?? {});
    await until('the records', async () => {
      const nodes = await Promise.all([done, blocked].map(name => getNode(api, name)));
      return nodes.every(
        ({ metadata }) => metadata.annotations?.['drydock.dev/before'] !== undefined,
      );
    });
    stayedHeld(moving, mark);
    assert.equal(
      (await oldLease(api, old, done))?.['acquireTime'],
      lease?.['acquireTime'],
      'the same lease, not a new one',
    );
    assert.match(await shell.run(section, way, 5), new RegExp(`^${blocked} .* Running `, 'm'));
  };

  /** All steps of the way back. */
  const moveBack = async (moving: Moving, heading: string, way: string): Promise<void> => {
    const { old, done, blocked } = moving;
    const section = sectionOf(heading);
    await settled(moving);
    const mark = history.length;
    for (const step of [1, 2, 3]) await shell.run(section, way, step);
    for (const name of [done, blocked]) {
      const { metadata, status } = await getNode(api, name);
      assert.equal(metadata.annotations?.['drydock.dev/before'], undefined);
      assert.deepEqual(
        (status.conditions ?? []).filter(({ reason = '' }) => reason.startsWith('Drydock')),
        [],
      );
    }
    await shell.run(section, way, 4);
    await relax(api, blocked);
    await untilOld(api, old, blocked, 'Succeeded');
    stayedHeld(moving, mark);
    await givenBack(moving, blocked);
    assert.equal(isClosedFor(old, await getNode(api, done)), true);
    await shell.run(section, way, 5);
    assert.match(
      await shell.run(section, way, 6),
      new RegExp(`^${done} +${done} +Succeeded$`, 'm'),
    );
  };

  const [medik8s, , kubevirt] = allOld as readonly [Old, Old, Old];

  test('from medik8s to Drydock, back, and to Drydock again', async () => {
    const heading = 'medik8s 0.16 and newer';
    const [there, back] = ['Moving from medik8s', 'Moving back to medik8s'];
    const section = sectionOf(heading);
    shell.open(section);
    const moving = await atWork(medik8s);
    await move(moving, heading, there);
    await moveBack(moving, heading, back);

    for (const step of [2, 3, 4]) await shell.run(section, there, step);
    await until('it to be taken over again', async () =>
      isTakenOver(await shell.run(section, there, 5), [moving.done]),
    );
    await shell.run(section, there, 6);
    await givenBack(moving, moving.done);
    assert.deepEqual(shell.unrun(), [], 'every step has been run');
    await shell.run(section, back, 2);
  });

  test('from KubeVirt to Drydock and back', async () => {
    const heading = 'KubeVirt v1beta1';
    const [there, back] = ['Moving from KubeVirt', 'Moving back to KubeVirt'];
    const section = sectionOf(heading);
    shell.open(section);
    const moving = await atWork(kubevirt);
    await move(moving, heading, there);
    const elsewhere = `/apis/coordination.k8s.io/v1/namespaces/drydock-system/leases/${moving.done}`;
    assert.equal(
      (await api.call('GET', elsewhere)).status,
      404,
      'Drydock has been told where the leases are',
    );
    await moveBack(moving, heading, back);
    await api.delete(
      `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${moving.place.webhooks}`,
    );
    await givenBack(moving, moving.done);
    await shell.run(section, there, 6);
    assert.deepEqual(shell.unrun(), [], 'every step has been run');
  });
});
