import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { apply, create, getNode } from '../control-plane/objects/cluster.ts';
import { type Manifest, namespace } from '../control-plane/objects/manifests.ts';
import type { Metadata } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  editNode,
  excludeLabel,
  type Lease,
  makeNode,
  namesOn,
  podAt,
  remove,
  taintsOf,
  untilFace,
  untilGone,
  untilPods,
  withMetadata,
} from './harness/look.ts';
import { drydock } from './harness/shipped.ts';

/**
 * The generations before medik8s, on the real API server: what their objects, leases, taints and
 * statuses look like, and what is taken over.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const finalizer = 'foregroundDeleteNodeMaintenance';
const taints = ['kubevirt.io/drain:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule'];

type Status = {
  readonly phase?: string;
  readonly lastError?: string;
  readonly pendingPods?: readonly string[];
  readonly totalpods?: number;
  readonly evictionPods?: number;
};
type Served = {
  readonly metadata: Metadata & { readonly finalizers?: readonly string[] };
  readonly spec?: object;
  readonly status?: Status;
};

const beta = '/apis/nodemaintenance.kubevirt.io/v1beta1/nodemaintenances';
const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.kubevirt.io';
function alphaPath(version: string, name: string, namespace?: string): string {
  return `/apis/kubevirt.io/${version}${namespace === undefined ? '' : `/namespaces/${namespace}`}/nodemaintenances/${name}`;
}

function object(apiVersion: string, name: string, spec: object, namespace?: string): Manifest {
  return {
    apiVersion,
    kind: 'NodeMaintenance',
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec,
  };
}

/** The CRD as the operators of 2019 brought it: namespaced, one version, no schema to speak of. */
function old(version: string, subresources?: object): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'nodemaintenances.kubevirt.io' },
    spec: {
      group: 'kubevirt.io',
      scope: 'Namespaced',
      names: {
        kind: 'NodeMaintenance',
        listKind: 'NodeMaintenanceList',
        plural: 'nodemaintenances',
        singular: 'nodemaintenance',
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(subresources && { subresources }),
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  };
}

function leaseAt(name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/node-maintenance/leases/${name}`;
}

/**
 * Objects of the oldest kind may have namespaces: those of the operator's own count, and of those
 * that somebody has opened.
 */
const opened = ['--machine-maintenance-watch-namespaces=ops'];

describe('the older generations', { skip, timeout: 180_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess | undefined;
  after(() => harness.stop());

  const restart = async (): Promise<void> => {
    await operator?.running.stop();
    operator = await harness.startOperator({ flags: opened });
  };
  const install = async (group: string, served: string): Promise<void> => {
    await apply(api, (await drydock(['crds', group])).stdout);
    await until(
      `${served} to be served`,
      async () => (await api.call('GET', served)).status === 200,
    );
  };
  const untilPhase = (path: string, phase: string): Promise<Status> =>
    waitFor(`${path} to be ${phase}`, async () => {
      const { status } = await api.get<Served>(path);
      return status?.phase === phase ? { done: status } : { yet: JSON.stringify(status) };
    });
  const withPod = async (name: string): Promise<object> => {
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    return face;
  };
  const isHeld = async (name: string): Promise<boolean> => {
    const found = await getNode(api, name);
    assert.equal(found.metadata.labels?.[excludeLabel], undefined, 'the label came with medik8s');
    return (
      found.spec.unschedulable === true && taints.every(taint => taintsOf(found).includes(taint))
    );
  };
  /** A node as these operators left it: no record of what was there, no mark of whose it is. */
  const leftBehind = async (name: string): Promise<object> => {
    const face = await makeNode(api, name);
    const both = taints.map(taint => ({ key: taint.split(':')[0], effect: 'NoSchedule' }));
    await editNode(api, name, { spec: { unschedulable: true, taints: both } });
    return face;
  };

  test('kubevirt.io as the very first operator left it: namespaced, v1alpha3 alone, no status subresource, no finalizer', async () => {
    await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', old('v1alpha3'));
    await until(
      'v1alpha3 to be served',
      async () =>
        (await api.call('GET', '/apis/kubevirt.io/v1alpha3/nodemaintenances')).status === 200,
    );
    const installed = await harness.drydock(
      'install',
      '--apply',
      '--kind',
      'kubevirt.io',
      '--without',
      'operator',
      'webhook',
      '--kubeconfig',
      harness.controlPlane.kubeconfig,
    );
    assert.match(
      `${installed.stdout}${installed.stderr}`,
      /nodemaintenances\.kubevirt\.io.*(namespaced|Namespaced)/,
      'it cannot be made cluster-scoped',
    );

    await create(api, namespace('ops'));
    const leftFace = await leftBehind('left-alpha3');
    await create(
      api,
      object('kubevirt.io/v1alpha3', 'left-alpha3', { reason: 'before us' }, 'ops'),
    );
    await restart();
    const face = await withPod('first');
    await create(api, object('kubevirt.io/v1alpha3', 'first', { reason: 'a test' }, 'ops'));
    const status = await untilPhase(alphaPath('v1alpha3', 'first', 'ops'), 'Succeeded');
    assert.deepEqual(status, { phase: 'Succeeded', totalpods: 1, evictionPods: 1 });
    assert.equal(await isHeld('first'), true);
    assert.deepEqual(await namesOn(api, 'first'), []);
    const { metadata } = await api.get<Served>(alphaPath('v1alpha3', 'first', 'ops'));
    assert.equal(metadata.finalizers, undefined, 'the first operator would never take it off');
    await untilPhase(alphaPath('v1alpha3', 'left-alpha3', 'ops'), 'Succeeded');
    await create(
      api,
      namespace('elsewhere'),
      object('kubevirt.io/v1alpha3', 'unheard', { reason: 'a tenant' }, 'elsewhere'),
    );
    const foreign = alphaPath('v1alpha3', 'unheard', 'elsewhere');
    await until(
      'a word about it',
      async () => (await api.get<Served>(foreign)).status?.lastError !== undefined,
    );
    assert.match(
      (await api.get<Served>(foreign)).status?.lastError ?? '',
      /^Not worked on: such objects count in namespaces .*, ops only\. Create it in one of them, or open this one as well/,
    );
    for (const [name, before] of [['first', face] as const, ['left-alpha3', leftFace] as const]) {
      await remove(api, alphaPath('v1alpha3', name, 'ops'));
      await untilFace(api, name, before);
    }
    await remove(api, crd);
  });

  test('objects that vanish while nobody looks give their node back at the next start', async () => {
    // The CRD of the test before is gone; this one is as v0.1.0 brought it: namespaced, v1alpha1,
    // with a finalizer.
    await api.post(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      old('v1alpha1', { status: {} }),
    );
    await until(
      'v1alpha1 to be served',
      async () =>
        (await api.call('GET', '/apis/kubevirt.io/v1alpha1/nodemaintenances')).status === 200,
    );
    await restart();
    const face = await makeNode(api, 'vanished');
    const path = alphaPath('v1alpha1', 'any-name', 'ops');
    await create(api, object('kubevirt.io/v1alpha1', 'any-name', { nodeName: 'vanished' }, 'ops'));
    await untilPhase(path, 'Succeeded');
    assert.deepEqual((await api.get<Served>(path)).metadata.finalizers, [finalizer]);
    await operator?.running.stop();
    await api.patch(path, { metadata: { finalizers: null } });
    await remove(api, path);
    operator = await harness.startOperator({ flags: opened });
    await untilFace(api, 'vanished', face);
    await remove(api, crd);
  });

  test('kubevirt.io with the CRD of this project: one object, two versions', async () => {
    await install('kubevirt.io', '/apis/kubevirt.io/v1alpha3/nodemaintenances');
    await restart();
    const face = await withPod('both');
    await create(
      api,
      object('kubevirt.io/v1alpha1', 'named-freely', { nodeName: 'both', reason: 'a test' }),
    );
    await untilPhase(alphaPath('v1alpha1', 'named-freely'), 'Succeeded');
    assert.equal(await isHeld('both'), true);
    // Written as v1alpha3, the object keeps the node that v1alpha1 gave it.
    await api.patch(alphaPath('v1alpha3', 'named-freely'), { spec: { reason: 'another' } });
    assert.deepEqual((await api.get<Served>(alphaPath('v1alpha1', 'named-freely'))).spec, {
      nodeName: 'both',
      reason: 'another',
    });
    await remove(api, alphaPath('v1alpha1', 'named-freely'));
    await untilFace(api, 'both', face);

    const byName = await makeNode(api, 'by-name');
    await create(
      api,
      object('kubevirt.io/v1alpha3', 'by-name', { reason: 'the name is the node' }),
    );
    await untilPhase(alphaPath('v1alpha3', 'by-name'), 'Succeeded');
    assert.equal(await isHeld('by-name'), true);
    await remove(api, alphaPath('v1alpha3', 'by-name'));
    await untilFace(api, 'by-name', byName);

    await create(api, object('kubevirt.io/v1alpha1', 'lost', { nodeName: 'nowhere' }));
    assert.equal(
      (await untilPhase(alphaPath('v1alpha1', 'lost'), 'Running')).lastError,
      'nodes "nowhere" not found',
    );
    await remove(api, alphaPath('v1alpha1', 'lost'));
    assert.equal(
      (await api.call('GET', leaseAt('both'))).status,
      404,
      'this generation knew no leases',
    );
  });

  test('nodemaintenance.kubevirt.io/v1beta1: its lease, its status, and the lease it leaves behind', async () => {
    await install('nodemaintenance.kubevirt.io', beta);
    await restart();
    const face = await withPod('beta');
    await create(
      api,
      object('nodemaintenance.kubevirt.io/v1beta1', 'beta', { nodeName: 'beta', reason: 'a test' }),
    );
    assert.deepEqual(await untilPhase(`${beta}/beta`, 'Succeeded'), {
      phase: 'Succeeded',
      totalpods: 1,
      evictionPods: 1,
    });
    assert.deepEqual((await api.get<Served>(`${beta}/beta`)).metadata.finalizers, [finalizer]);
    assert.equal(await isHeld('beta'), true);
    const { spec } = await api.get<Lease>(leaseAt('beta'));
    assert.deepEqual(
      [spec.holderIdentity, spec.leaseDurationSeconds, spec.leaseTransitions],
      ['node-maintenance', 3600, 0],
    );
    await remove(api, `${beta}/beta`);
    await untilFace(api, 'beta', face);
    await until(
      'the lease to be blank',
      async () => (await api.get<Lease>(leaseAt('beta'))).spec.renewTime === undefined,
    );
    assert.deepEqual((await api.get<Lease>(leaseAt('beta'))).spec, {
      holderIdentity: 'node-maintenance',
    });
    // And once more, on the lease that was left.
    await create(api, object('nodemaintenance.kubevirt.io/v1beta1', 'again', { nodeName: 'beta' }));
    await untilPhase(`${beta}/again`, 'Succeeded');
    assert.equal((await api.get<Lease>(leaseAt('beta'))).spec.leaseTransitions, 1);
    await remove(api, `${beta}/again`);
  });

  test('what the KubeVirt operator has left in mid-maintenance is taken over and finished', async () => {
    const face = await leftBehind('taken');
    await operator?.running.stop();
    await create(
      api,
      withMetadata(object('nodemaintenance.kubevirt.io/v1beta1', 'taken', { nodeName: 'taken' }), {
        finalizers: [finalizer],
      }),
    );
    await api.patch(`${beta}/taken/status`, {
      status: { phase: 'Running', totalpods: 4, evictionPods: 2, pendingPods: ['gone-long-ago'] },
    });
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const lease = {
      holderIdentity: 'node-maintenance',
      leaseDurationSeconds: 3600,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    };
    await api.post('/apis/coordination.k8s.io/v1/namespaces/node-maintenance/leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'taken' },
      spec: lease,
    });
    operator = await harness.startOperator({ flags: opened });
    await untilPhase(`${beta}/taken`, 'Succeeded');
    assert.equal(
      (await api.get<Lease>(leaseAt('taken'))).spec.acquireTime,
      now,
      'it is the same lease, not a new one',
    );
    await remove(api, `${beta}/taken`);
    await untilFace(api, 'taken', face);
  });

  test('what was moved back is finished by the operator before us, and forgotten by us', async () => {
    const face = await makeNode(api, 'back');
    await create(api, object('nodemaintenance.kubevirt.io/v1beta1', 'back', { nodeName: 'back' }));
    await untilPhase(`${beta}/back`, 'Succeeded');
    await operator?.running.stop();
    // What that operator does when the object is deleted: taints off, uncordon, lease blank,
    // finalizer off (seed contract, chapter 3.3 and 10.4).
    await api.delete(`${beta}/back`);
    await editNode(api, 'back', { spec: { unschedulable: null, taints: null } });
    await api.patch(leaseAt('back'), {
      spec: {
        leaseDurationSeconds: null,
        acquireTime: null,
        renewTime: null,
        leaseTransitions: null,
      },
    });
    await api.patch(`${beta}/back`, { metadata: { finalizers: null } });
    await untilGone(api, `${beta}/back`);
    // Somebody cordons the node meanwhile: that is not ours to undo.
    await editNode(api, 'back', { spec: { unschedulable: true } });
    operator = await harness.startOperator({ flags: opened });
    await until(
      'the record to be gone',
      async () =>
        (await getNode(api, 'back')).metadata.annotations?.['drydock.dev/before'] === undefined,
    );
    assert.equal((await getNode(api, 'back')).spec.unschedulable, true);
    await editNode(api, 'back', { spec: { unschedulable: null } });
    await untilFace(api, 'back', face);
  });
});
