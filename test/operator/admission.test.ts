import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { webhookConfiguration } from '@drydock/apis/admission-rules';
import { parse } from 'yaml';
import type { Reply } from '../control-plane/objects/api.ts';
import {
  apply,
  budgetAllows,
  create,
  deleteNodes,
  failureIn,
  podPath,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { budget, type Manifest, namespace, pod } from '../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../control-plane/objects/objects.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import {
  drydock,
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  remove,
  seed,
  seedPath,
  untilGone,
  untilMaintenance,
  untilSeed,
} from './harness/look.ts';

/**
 * The webhook on a real control plane: first without OpenShift, then with what makes it look like
 * one.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const configurationPath = `${configurations}/drydock`;
const seeds = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';
const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';
const kubevirts = '/apis/nodemaintenance.kubevirt.io/v1beta1/nodemaintenances';
const alphas = '/apis/kubevirt.io/v1alpha1/nodemaintenances';
const leases = '/apis/coordination.k8s.io/v1/namespaces/drydock-system/leases';

function deniedBy(webhook: string, message: string): string {
  return `admission webhook "${webhook}" denied the request: ${message}`;
}
function deniedSeed(message: string): string {
  return deniedBy('vnodemaintenance.kb.io', message);
}
function quorumText(nodeName: string): string {
  return `can not put master/control-plane node into maintenance at this moment, disrupting node ${nodeName} will violate etcd quorum`;
}

/** The message of a denial; the name of the object that was created otherwise. */
function outcomeOf(reply: Reply): string {
  if (reply.status === 201)
    return `created ${(reply.body as { readonly metadata: Metadata }).metadata.name}`;
  const { code, reason, message } = failureIn(reply);
  assert.deepEqual([reply.status, code, reason], [403, 403, 'Forbidden'], message);
  return message;
}

type Configuration = {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string; readonly url?: string };
  }[];
};

const controlPlane = { 'node-role.kubernetes.io/control-plane': '' };
const members = ['cp-0', 'cp-1', 'cp-2'];

describe('admission', { skip, timeout: 300_000 }, () => {
  const { api } = harness;
  let port = 0;
  let operator: OperatorProcess | undefined;

  const startOperator = async (): Promise<void> => {
    operator = await harness.startOperator({
      flags: [`--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
  };
  const stopOperator = async (): Promise<void> => {
    await operator?.running.stop();
    operator = undefined;
  };
  const post = async (collection: string, manifest: Manifest, query = ''): Promise<string> =>
    outcomeOf(await api.call('POST', `${collection}${query}`, manifest));
  const dryRun = (manifest: Manifest): Promise<string> => post(seeds, manifest, '?dryRun=All');
  /** Somebody who applies the manifest again wipes what the operator has filled in. */
  const applyConfiguration = (): Promise<unknown> => {
    const { webhooks } = webhookConfiguration(path => ({
      url: `https://127.0.0.1:${port}${path}`,
    }));
    return api.patch(configurationPath, { webhooks });
  };
  const bundles = async (): Promise<readonly string[]> =>
    (await api.get<Configuration>(configurationPath)).webhooks.map(
      ({ clientConfig }) => clientConfig.caBundle ?? '',
    );
  const untilBundled = (): Promise<void> =>
    until(
      'a caBundle in every webhook',
      async () => (await bundles()).every(bundle => bundle !== ''),
      { deadlineMs: 20_000 },
    );
  /** API servers follow their configuration, a moment later. */
  const untilAsked = (): Promise<void> =>
    waitFor('the webhook to be asked', async () => {
      const reply = await api.call('POST', seeds, seed('nobody'));
      const { message } = failureIn(reply);
      return message === deniedSeed('invalid nodeName, no node with name nobody found')
        ? { done: undefined }
        : { yet: message };
    });
  const make = async (...names: readonly string[]): Promise<void> => {
    await Promise.all(names.map(name => makeNode(api, name)));
  };

  before(async () => {
    [port = 0] = await freePorts(1);
    await apply(
      api,
      (await drydock(['crds', 'nodemaintenance.kubevirt.io', 'kubevirt.io'])).stdout,
    );
    for (const kind of [kubevirts, alphas])
      await until(`${kind} to be served`, async () => (await api.call('GET', kind)).status === 200);
    await api.post(
      configurations,
      webhookConfiguration(path => ({ url: `https://127.0.0.1:${port}${path}` })),
    );
    await startOperator();
    await untilBundled();
    await untilAsked();
  });
  after(() => harness.stop());

  test('kubectl prints the message of the contract to the byte', {
    skip: harness.lacksKubectl,
  }, async () => {
    const input = JSON.stringify(seed('kubectl', 'nowhere'));
    const { code, stderr } = await harness.controlPlane.kubectl(['create', '-f', '-'], { input });
    assert.equal(code, 1);
    const expected = `Error from server (Forbidden): error when creating "STDIN": ${deniedSeed('invalid nodeName, no node with name nowhere found')}\n`;
    assert.equal(stderr, expected);
  });

  test('eight simultaneous creates for one node: one is stored, seven get message 2', async () => {
    await make('wanted');
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => post(seeds, seed(`wanted-${index}`, 'wanted'))),
    );
    const taken = deniedSeed('invalid nodeName, a NodeMaintenance for node wanted already exists');
    const stored = all.filter(outcome => outcome !== taken);
    assert.equal(stored.length, 1, all.join('\n'));
    assert.match(stored[0] ?? '', /^created wanted-\d$/);
    const { items } = await api.get<List<{ readonly metadata: Metadata }>>(seeds);
    assert.deepEqual(
      items.map(({ metadata }) => `created ${metadata.name}`),
      stored,
    );
    const [name = ''] = items.map(({ metadata }) => metadata.name);
    await untilSeed(api, name, 'Succeeded');
    await remove(api, seedPath(name));
  });

  test('a node is free again as soon as its NodeMaintenance is gone, and one on its way out still counts', async () => {
    await make('again');
    for (const name of ['again-1', 'again-2', 'again-3']) {
      assert.equal(await post(seeds, seed(name, 'again')), `created ${name}`);
      await untilSeed(api, name, 'Succeeded');
      await api.patch(seedPath(name), {
        metadata: { finalizers: ['foregroundDeleteNodeMaintenance', 'test/stays'] },
      });
      await api.delete(seedPath(name));
      assert.equal(
        await post(seeds, seed('too-early', 'again')),
        deniedSeed('invalid nodeName, a NodeMaintenance for node again already exists'),
      );
      await until('our finalizer to be gone', async () => {
        const { metadata } = await api.get<{ readonly metadata: Metadata }>(seedPath(name));
        return metadata.finalizers?.join() === 'test/stays';
      });
      await api.patch(seedPath(name), { metadata: { finalizers: [] } });
      await untilGone(api, seedPath(name));
    }
  });

  test('a dry run is checked and leaves nothing', async () => {
    await make('dry');
    assert.equal(await dryRun(seed('dry')), 'created dry');
    assert.equal(
      await dryRun(seed('dry', 'nowhere')),
      deniedSeed('invalid nodeName, no node with name nowhere found'),
    );
    assert.equal((await api.call('GET', seedPath('dry'))).status, 404);
    const { items } = await api.get<List<{ readonly metadata: Metadata }>>(
      `${leases}?labelSelector=drydock.dev/admission`,
    );
    const reservations = items.map(
      ({ metadata }) => metadata.annotations?.['drydock.dev/reserved-for'] ?? '',
    );
    assert.deepEqual(
      reservations.filter(text => text.includes(seedPath('dry'))),
      [],
    );
    assert.equal(
      await post(seeds, seed('dry')),
      'created dry',
      'nothing stands in the way of the real one',
    );
    await remove(api, seedPath('dry'));
  });

  test('nodeName cannot be changed, the reason can', async () => {
    await make('fixed', 'other');
    await create(api, seed('fixed'));
    const moved = await api.call(
      'PATCH',
      seedPath('fixed'),
      { spec: { nodeName: 'other' } },
      'application/merge-patch+json',
    );
    assert.equal(outcomeOf(moved), deniedSeed("updating spec.NodeName isn't allowed"));
    await api.patch(seedPath('fixed'), { spec: { reason: 'another' } });
    await remove(api, seedPath('fixed'));
  });

  for (const [collection, apiVersion, webhook] of [
    [kubevirts, 'nodemaintenance.kubevirt.io/v1beta1', 'vnodemaintenance.kubevirt.kb.io'],
    [alphas, 'kubevirt.io/v1alpha1', 'vnodemaintenance.v1alpha.kubevirt.kb.io'],
  ] as const) {
    test(`${apiVersion} is asked under its own webhook`, async () => {
      const node = apiVersion.replace(/[./]/g, '-');
      await make(node);
      const ask = (name: string, nodeName: string): Promise<string> =>
        post(collection, { ...seed(name, nodeName), apiVersion });
      assert.equal(
        await ask('one', 'nowhere'),
        deniedBy(webhook, 'invalid nodeName, no node with name nowhere found'),
      );
      assert.equal(await ask('one', node), 'created one');
      assert.equal(
        await ask('two', node),
        deniedBy(webhook, `invalid nodeName, a NodeMaintenance for node ${node} already exists`),
      );
      const moved = await api.call(
        'PATCH',
        `${collection}/one`,
        { spec: { nodeName: 'other' } },
        'application/merge-patch+json',
      );
      assert.equal(outcomeOf(moved), deniedBy(webhook, "updating spec.NodeName isn't allowed"));
      await remove(api, `${collection}/one`);
    });
  }

  test('the oldest kind may name its node by its own name', async () => {
    const nameless = (name: string): Manifest => ({
      apiVersion: 'kubevirt.io/v1alpha1',
      kind: 'NodeMaintenance',
      metadata: { name },
    });
    await make('named');
    assert.equal(
      await post(alphas, nameless('nowhere')),
      deniedBy(
        'vnodemaintenance.v1alpha.kubevirt.kb.io',
        'invalid nodeName, no node with name nowhere found',
      ),
    );
    assert.equal(await post(alphas, nameless('named')), 'created named');
    await remove(api, `${alphas}/named`);
  });

  test('the caBundle is back soon after it was wiped', async () => {
    const before = await bundles();
    await applyConfiguration();
    await untilBundled();
    assert.deepEqual(await bundles(), before);
    await untilAsked();
  });

  test('without an operator: finalizers can be written and objects deleted, nothing can be created', async () => {
    await make('alone');
    await create(api, seed('alone'));
    await untilSeed(api, 'alone', 'Succeeded');
    await stopOperator();
    await api.patch(seedPath('alone'), {
      metadata: {
        finalizers: ['foregroundDeleteNodeMaintenance', 'test/another'],
        labels: { a: 'b' },
      },
    });
    const refused = await api.call('POST', seeds, seed('second', 'alone'));
    assert.equal(refused.status, 500);
    assert.match(failureIn(refused).message, /failed calling webhook "vnodemaintenance.kb.io"/);
    await api.patch(seedPath('alone'), {
      metadata: { finalizers: ['foregroundDeleteNodeMaintenance'] },
    });
    await api.delete(seedPath('alone'));
    await startOperator();
    await untilGone(api, seedPath('alone'));
    await untilAsked();
  });

  describe('the quorum, off OpenShift', () => {
    before(async () => {
      await Promise.all(members.map(name => makeNode(api, name, { labels: controlPlane })));
    });

    test('eight simultaneous creates of Maintenances for the three control-plane nodes: one node is taken, and the older kinds count', async () => {
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          post(maintenances, maintenance(`rush-${index}`, { nodeName: members[index % 3] ?? '' })),
        ),
      );
      type Items = List<{
        readonly metadata: Metadata;
        readonly spec: { readonly nodeName: string };
      }>;
      const own = (await api.get<Items>(maintenances)).items;
      const nodes = new Set(own.map(({ spec }) => spec.nodeName));
      assert.equal(nodes.size, 1, all.join('\n'));
      const [taken = ''] = nodes;
      const because = `2 of 3 control-plane nodes must stay; out of service or about to be: ${taken}`;
      const override =
        'the annotation drydock.dev/allow-quorum-loss: "true" on the maintenance object overrides this';
      const free = members.find(name => name !== taken) ?? '';
      const message = `${quorumText(free)}: ${because}; ${override}`;
      const late = (): Promise<string> =>
        post(maintenances, maintenance('late', { nodeName: free }));
      assert.equal(await late(), deniedBy('vmaintenance.drydock.dev', message));
      for (const { metadata } of own) await remove(api, maintenancePath(metadata.name));
      await create(api, seed(taken));
      assert.equal(await late(), deniedBy('vmaintenance.drydock.dev', message));
      await remove(api, seedPath(taken));
    });

    test('the older kinds are accepted, as their operators did, and both webhook and operator say what is at stake', async () => {
      await create(api, seed('cp-0'));
      await untilSeed(api, 'cp-0', 'Succeeded');
      const stake =
        'cp-1 is one of 3 control-plane nodes, of which 2 must stay: without it etcd loses its quorum';
      if (harness.lacksKubectl === false) {
        const { code, stderr } = await harness.controlPlane.kubectl(
          ['create', '--dry-run=server', '-f', '-'],
          {
            input: JSON.stringify(seed('cp-1')),
          },
        );
        assert.equal(code, 0, stderr);
        assert.match(stderr, new RegExp(`^Warning: ${stake}`));
      }
      await create(api, seed('cp-1'));
      await untilSeed(api, 'cp-1', 'Succeeded');
      const events = await api.get<List<{ readonly reason: string; readonly message: string }>>(
        '/api/v1/namespaces/default/events',
      );
      assert.ok(
        events.items.some(
          ({ reason, message }) => reason === 'QuorumAtRisk' && message.startsWith(stake),
        ),
      );
      for (const name of ['cp-0', 'cp-1']) await remove(api, seedPath(name));
    });

    test('an announcement may be made of every node, and become more of one', async () => {
      for (const name of members) await create(api, maintenance(name, { level: 'Announce' }));
      await api.patch(maintenancePath('cp-0'), { spec: { level: 'Drain' } });
      await untilMaintenance(api, 'cp-0', 'Drained');
      const refused = await api.call(
        'PATCH',
        maintenancePath('cp-1'),
        { spec: { level: 'Drain' } },
        'application/merge-patch+json',
      );
      assert.ok(
        outcomeOf(refused).startsWith(deniedBy('vmaintenance.drydock.dev', quorumText('cp-1'))),
      );
      for (const name of members) await remove(api, maintenancePath(name));
    });

    test('the annotation overrides it', async () => {
      await create(api, maintenance('cp-0'));
      const wanted = maintenance('cp-1');
      const asked = async (manifest: Manifest): Promise<string> =>
        post(maintenances, manifest, '?dryRun=All');
      assert.ok(
        (await asked(wanted)).startsWith(deniedBy('vmaintenance.drydock.dev', quorumText('cp-1'))),
      );
      const annotations = { 'drydock.dev/allow-quorum-loss': 'true' };
      assert.equal(
        await asked({ ...wanted, metadata: { ...wanted.metadata, annotations } }),
        'created cp-1',
      );
      await remove(api, maintenancePath('cp-0'));
    });
  });

  describe('the quorum, on OpenShift', () => {
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'clusterversions.config.openshift.io' },
      spec: {
        group: 'config.openshift.io',
        scope: 'Cluster',
        names: {
          plural: 'clusterversions',
          singular: 'clusterversion',
          kind: 'ClusterVersion',
          listKind: 'ClusterVersionList',
        },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
    };
    const etcd = 'openshift-etcd';
    const no = deniedSeed(quorumText('cp-0'));
    const setBudget = async (minAvailable: number, allowed: number): Promise<void> => {
      await create(
        api,
        budget('etcd-guard', { namespace: etcd, minAvailable, matchLabels: { app: 'guard' } }),
      );
      await budgetAllows(api, etcd, 'etcd-guard', allowed);
    };
    const dropBudget = (): Promise<void> =>
      remove(api, `/apis/policy/v1/namespaces/${etcd}/poddisruptionbudgets/etcd-guard`);
    const guardOn = async (name: string): Promise<void> => {
      await create(
        api,
        pod('guard', {
          namespace: etcd,
          onNodes: [name],
          spec: { tolerations: [{ operator: 'Exists' }] },
        }),
      );
      await podsReady(api, etcd, 1);
    };

    before(async () => {
      await stopOperator();
      await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
      await until(
        'config.openshift.io/v1 to be served',
        async () => (await api.call('GET', '/apis/config.openshift.io/v1')).status === 200,
      );
      await startOperator();
      await untilAsked();
      await create(api, namespace(etcd));
    });
    after(() => deleteNodes(api, members));

    test('no budget: denied, to the byte', async () => {
      assert.equal(await dryRun(seed('cp-0')), no);
    });

    test('a budget that allows nothing: the guard of the node decides', async () => {
      await guardOn('cp-0');
      await setBudget(1, 0);
      assert.equal(await dryRun(seed('cp-0')), no, 'a Ready guard');
      assert.equal(await dryRun(seed('cp-1')), 'created cp-1', 'no guard on the node');
      const ready = (status: string): object => ({
        status: { conditions: [{ type: 'Ready', status }] },
      });
      await api.patch(`${podPath(etcd, 'guard')}/status`, ready('False'));
      assert.equal(await dryRun(seed('cp-0')), 'created cp-0', 'a guard that is not Ready');
      await api.patch(`${podPath(etcd, 'guard')}/status`, ready('Unknown'));
      assert.equal(await dryRun(seed('cp-0')), no, 'a guard of which nothing is known');
      await api.patch(`${podPath(etcd, 'guard')}/status`, ready('True'));
      await dropBudget();
    });

    test('a budget that allows one lets go, but not while another maintenance is about to take it', async () => {
      await setBudget(0, 1);
      assert.equal(await dryRun(seed('cp-0')), 'created cp-0');
      await create(api, maintenance('elsewhere', { nodeName: 'cp-2' }));
      assert.equal(await dryRun(seed('cp-0')), no);
      await remove(api, maintenancePath('elsewhere'));
      assert.equal(await dryRun(seed('cp-0')), 'created cp-0');
      await dropBudget();
    });
  });

  describe('the policies, without any webhook', () => {
    const policies = join(import.meta.dirname, '..', '..', 'deploy', 'policy');
    const deniedBy = (policy: string, message: string): RegExp =>
      new RegExp(
        `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${message}$`,
      );
    const refused = async (reply: Promise<Reply>, message: RegExp): Promise<void> =>
      assert.match(failureIn(await reply).message, message);
    const merge = (path: string, body: unknown): Promise<Reply> =>
      api.call('PATCH', path, body, 'application/merge-patch+json');

    before(async () => {
      await stopOperator();
      await api.delete(configurationPath);
      const { resources } = parse(readFileSync(join(policies, 'kustomization.yaml'), 'utf8')) as {
        readonly resources: readonly string[];
      };
      for (const file of resources) await apply(api, readFileSync(join(policies, file), 'utf8'));
      // API servers compile policies a moment after they were stored.
      await until('the policies to be in force', async () => {
        const odd = await api.call('POST', `${seeds}?dryRun=All`, seed('odd', 'A B'));
        const typed = await api.call('POST', `${maintenances}?dryRun=All`, typo('odd'));
        return odd.status === 403 && typed.status === 422;
      });
    });

    const typo = (name: string): Manifest => {
      const manifest = maintenance(name);
      return {
        ...manifest,
        metadata: { ...manifest.metadata, annotations: { 'drydock.dev/allow-quorum-loss': 'yes' } },
      };
    };

    test('keep nodeName, and refuse what no node is called', async () => {
      const moved = deniedBy('drydock-node-maintenance', "updating spec.NodeName isn't allowed");
      const nobody = (name: string): RegExp =>
        deniedBy('drydock-node-maintenance', `invalid nodeName, no node with name ${name} found`);
      for (const [collection, apiVersion] of [
        [seeds, 'nodemaintenance.medik8s.io/v1beta1'],
        [kubevirts, 'nodemaintenance.kubevirt.io/v1beta1'],
        [alphas, 'kubevirt.io/v1alpha1'],
      ] as const) {
        // The oldest kind is named after its node where it names none.
        if (collection !== alphas)
          await refused(
            api.call('POST', collection, { ...seed('kept', ''), apiVersion }),
            nobody(''),
          );
        await refused(
          api.call('POST', collection, { ...seed('kept', 'A/B'), apiVersion }),
          nobody('A/B'),
        );
        await api.post(collection, { ...seed('kept', 'n1'), apiVersion });
        await refused(merge(`${collection}/kept`, { spec: { nodeName: 'n2' } }), moved);
        assert.equal(
          (
            await merge(`${collection}/kept`, {
              metadata: { finalizers: ['test/a'] },
              spec: { reason: 'x' },
            })
          ).status,
          200,
        );
        assert.equal(
          (await merge(`${collection}/kept`, { metadata: { finalizers: [] } })).status,
          200,
        );
        await remove(api, `${collection}/kept`);
      }
    });

    test('refuse an annotation that means nothing, on every kind', async () => {
      const message =
        'the annotation drydock.dev/allow-quorum-loss is "yes"; it must be "true" or "false"';
      await refused(
        api.call('POST', maintenances, typo('typo')),
        deniedBy('drydock-maintenance', message),
      );
      await create(api, maintenance('typo', { nodeName: 'n1' }));
      const annotate = (value: string): Promise<Reply> =>
        merge(maintenancePath('typo'), {
          metadata: { annotations: { 'drydock.dev/allow-quorum-loss': value } },
        });
      await refused(annotate('yes'), deniedBy('drydock-maintenance', message));
      assert.equal((await annotate('true')).status, 200);
      await remove(api, maintenancePath('typo'));
    });

    test("are not needed for a Maintenance's nodeName: its CRD keeps that", async () => {
      await create(api, maintenance('own', { nodeName: 'n1' }));
      await refused(
        merge(maintenancePath('own'), { spec: { nodeName: 'n2' } }),
        /nodeName cannot be changed: create another Maintenance/,
      );
      await remove(api, maintenancePath('own'));
    });
  });
});
