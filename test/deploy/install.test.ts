import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lacking } from '@drydock/apimachinery';
import { type Manifest, manifestsIn } from '@drydock/cli/install';
import { startControlPlane } from '../control-plane/control-plane.ts';
import {
  budgetAllows,
  collectionOf,
  create,
  failureIn,
  getNode,
  nodePath,
  nodesReady,
  podPath,
  pods,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import {
  budget,
  daemonSet,
  deployment,
  namespace,
  node,
} from '../control-plane/objects/manifests.ts';
import { isReady } from '../control-plane/objects/objects.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { wantedRelease } from '../control-plane/releases.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  attachment,
  maintenance,
  maintenancePath,
  remove,
  storage,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { drydock, forbiddenCalls, operatorUsers } from '../operator/harness/shipped.ts';
import { callWebhookAt, removeWebhook } from '../operator/harness/webhook-address.ts';

const people = { viewer: [], editor: [], drainer: [] } as const;
const started = await startControlPlane({ audit: true, users: { ...operatorUsers, ...people } });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const deploy = join(import.meta.dirname, '..', '..', 'deploy');
const home = 'drydock-system';
const legacy = ['nodemaintenance.kubevirt.io', 'kubevirt.io'];

describe('drydock install and deploy/', { skip, timeout: 180_000 }, () => {
  const { api } = controlPlane;
  const startOperator = operatorsOn(controlPlane);
  after(() => controlPlane.stop());

  const as = (user: string, ...args: readonly string[]): Promise<Outcome> =>
    drydock([...args, '--kubeconfig', controlPlane.kubeconfigOf(user)]);
  const install = (...args: readonly string[]): Promise<Outcome> =>
    as('admin', 'install', '--apply', ...args);
  const isLeftOut = (line: string): boolean => line.startsWith('left out, because Kubernetes ');
  /** One for each object. */
  const linesOf = ({ stdout }: Outcome): readonly string[] =>
    stdout
      .trimEnd()
      .split('\n')
      .filter(line => !isLeftOut(line));

  const kustomized = async (folder: string): Promise<readonly Manifest[]> => {
    const { code, stdout, stderr } = await controlPlane.kubectl(['kustomize', folder]);
    assert.equal(code, 0, stderr);
    return manifestsIn(stdout);
  };
  const printed = async (...args: readonly string[]): Promise<readonly Manifest[]> => {
    const { code, stdout, stderr } = await drydock(['install', ...args]);
    assert.equal(code, 0, stderr);
    return manifestsIn(stdout);
  };
  const byName = (all: readonly Manifest[]): ReadonlyMap<string, Manifest> => {
    const named = all.map(
      one =>
        [
          `${one.apiVersion} ${one.kind} ${one.metadata.namespace ?? ''}/${one.metadata.name}`,
          one,
        ] as const,
    );
    return new Map(named.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  };

  test('kubectl kustomize deploy/default gives what drydock install prints', async () => {
    const [theirs, ours] = await Promise.all([kustomized(join(deploy, 'default')), printed()]);
    assert.ok(ours.length > 20, 'there is something to compare');
    assert.deepEqual(byName(theirs), byName(ours));
  });

  test('and so it does with all that is optional', async () => {
    const folder = join(controlPlane.folder, 'overlay');
    mkdirSync(folder);
    const from = (name: string): string => relative(folder, join(deploy, name));
    const resources = [
      'default',
      'machine-api',
      'virtual-machines',
      'agent',
      'monitoring',
      ...legacy.map(group => `legacy/${group}`),
    ].map(from);
    const overlay = {
      resources,
      components: [from('cert-manager'), from('control-plane')],
      images: [{ name: 'drydock', newName: 'example.test/dry', newTag: '7' }],
    };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
    const flags = [
      '--with',
      'machine-api',
      'virtual-machines',
      'agent',
      'monitoring',
      'cert-manager',
      'control-plane',
      '--kind',
      ...legacy,
      '--image',
      'example.test/dry:7',
    ];
    const [theirs, ours] = await Promise.all([kustomized(folder), printed(...flags)]);
    assert.deepEqual(byName(theirs), byName(ours));
  });

  test('the folders of kinds can be applied as they are, with -f and with -k, and both are the same', async () => {
    for (const folder of ['crds', ...legacy.map(group => `legacy/${group}`)]) {
      const apply = ['apply', '--server-side', '--dry-run=server', '-o', 'name'];
      const [files, kustomization] = await Promise.all(
        ['-f', '-k'].map(how => controlPlane.kubectl([...apply, how, join(deploy, folder)])),
      );
      assert.ok(files !== undefined && kustomization !== undefined);
      assert.deepEqual([files.code, files.stderr, kustomization.code], [0, '', 0]);
      assert.deepEqual(linesOf(files).toSorted(), linesOf(kustomization).toSorted());
    }
  });

  test('each folder that can be applied by itself gives its objects the labels by which they are known', async () => {
    const folders = readdirSync(deploy, { recursive: true, encoding: 'utf8' }).filter(name =>
      /kustomization.yaml$/i.test(name),
    );
    const parts = folders
      .map(name => dirname(name))
      .filter(name => !['labels', 'default', 'control-plane', 'cert-manager'].includes(name));
    for (const folder of parts.filter(
      name => !/^(legacy\/)|(shared-namespaces)/.test(name) || name.endsWith('operator'),
    ))
      for (const { kind, metadata } of await kustomized(join(deploy, folder)))
        if (kind !== 'CustomResourceDefinition' || metadata.name.endsWith('.drydock.dev'))
          assert.deepEqual(
            [metadata.labels?.['app.kubernetes.io/part-of'], metadata.labels?.['drydock.dev/part']],
            [
              'drydock',
              folder.split('/')[1] === 'certificate' ? 'cert-manager' : folder.split('/').at(-1),
            ],
            `${folder}: ${kind} ${metadata.name}`,
          );
  });

  test('the credentials of the replaced machine operator are used where they are, by a manifest of its own', async () => {
    const theirs = await kustomized(join(deploy, 'legacy', 'machine-maintenance-operator'));
    assert.deepEqual(theirs.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
      'MachineEventSource aws',
      'Role drydock-credentials',
      'RoleBinding drydock-credentials',
    ]);
  });

  test('is applied to an empty cluster, and changes nothing when it is applied again', async () => {
    const first = await install();
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.deepEqual(
      linesOf(first).filter(line => !line.endsWith(' serverside-applied')),
      [],
    );
    const lacks = lacking(wantedRelease()).map(({ name }) => name);
    const leftOut = first.stdout.split('\n').filter(isLeftOut);
    assert.equal(leftOut.length, lacks.length, first.stdout);
    for (const [index, name] of lacks.entries())
      assert.ok(leftOut[index]?.includes(name), first.stdout);
    assert.ok(linesOf(first).includes(`namespace/${home} serverside-applied`));
    assert.ok(linesOf(first).includes('deployment.apps/drydock serverside-applied'));
    const again = await install();
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(
      linesOf(again),
      linesOf(first).map(line => line.replace(/ serverside-applied$/, ' unchanged')),
    );
  });

  test('agrees with kubectl apply --server-side -k: neither finds a conflict, or anything to change', {
    skip:
      lacking(wantedRelease()).length > 0 && 'kustomize leaves nothing out for an older Kubernetes',
  }, async () => {
    const applied = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-k',
      join(deploy, 'default'),
    ]);
    assert.equal(applied.code, 0, applied.stderr);
    const warnings = applied.stderr
      .split('\n')
      .filter(line => line.includes('onflict') || line.includes('master'));
    assert.deepEqual(warnings, []);
    const again = await install();
    assert.deepEqual(
      [again.code, linesOf(again).filter(line => !line.endsWith(' unchanged'))],
      [0, []],
      again.stderr,
    );
  });

  test('leaves the certificate authority alone that the operator has written into the webhook', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/drydock';
    const caBundle = Buffer.from(controlPlane.accessOf('admin').ca ?? '').toString('base64');
    const patch = [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: caBundle }];
    const patched = await api.call(
      'PATCH',
      `${path}?fieldManager=drydock`,
      patch,
      'application/json-patch+json',
    );
    assert.equal(patched.status, 200, JSON.stringify(patched.body));
    const again = await install();
    assert.deepEqual(
      linesOf(again).filter(line => !line.endsWith(' unchanged')),
      [],
      again.stderr,
    );
    const { webhooks } = await api.get<{
      readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
    }>(path);
    assert.equal(webhooks[0]?.clientConfig.caBundle, caBundle);
  });

  test('its pods are admitted to the restricted namespace, one on each node, and one may go at a time', async () => {
    const names = ['deploy-1', 'deploy-2'];
    await create(api, ...names.map(name => node(name)));
    await nodesReady(api, names);
    const isOpen = async (name: string): Promise<boolean> =>
      ((await getNode(api, name)).spec.taints ?? []).length === 0;
    for (const name of names) await until(`${name} to take pods`, () => isOpen(name));
    // The pods may have gone to the node that was open first: those that are made now have the
    // choice.
    for (const { metadata } of await podsReady(api, home, 2))
      await api.delete(podPath(home, metadata.name), { gracePeriodSeconds: 0 });
    const found = await podsReady(api, home, 2);
    assert.deepEqual(new Set(found.map(({ spec }) => spec.nodeName)), new Set(names));
    await budgetAllows(api, home, 'drydock', 1);
    const dry = ['drain', 'deploy-1', '--dry-run=server'];
    for (const { code, stderr } of [await controlPlane.kubectl(dry), await as('admin', ...dry)])
      assert.equal(code, 0, `a node with the operator on it can be drained: ${stderr}`);
    const privileged = {
      containers: [
        { name: 'main', image: 'example.test/none:1', securityContext: { privileged: true } },
      ],
    };
    const refused = await api.call('POST', collectionOf('v1', 'Pod', home), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'bad' },
      spec: privileged,
    });
    assert.equal(refused.status, 403, 'the namespace is restricted');
    assert.match(failureIn(refused).message, /violates PodSecurity "restricted:latest"/);
  });

  test('its pods are on two nodes after each rolling update, too, although one is of the kind that they prefer, and no node is in a zone', async () => {
    const names = ['deploy-3', 'deploy-4'];
    const labels = { 'node-role.kubernetes.io/control-plane': '' };
    await create(api, node('deploy-3', { labels }), node('deploy-4'));
    await nodesReady(api, names);
    const before = new Set<string>();
    for (let roll = 0; roll < 5; roll += 1) {
      for (const { metadata } of await podsReady(api, home, 2)) before.add(metadata.uid);
      const rolled = await controlPlane.kubectl([
        '-n',
        home,
        'rollout',
        'restart',
        'deployment/drydock',
      ]);
      assert.equal(rolled.code, 0, rolled.stderr);
      const found = await waitFor('two new pods', async () => {
        const all = await pods(api, home);
        const isNew =
          all.length === 2 && all.every(pod => isReady(pod) && !before.has(pod.metadata.uid));
        return isNew ? { done: all } : { yet: `${all.length} pods` };
      });
      assert.equal(
        new Set(found.map(({ spec }) => spec.nodeName)).size,
        2,
        `rolling update ${roll + 1}`,
      );
      // kubectl says when, in seconds: the next one at the same second would change nothing.
      await sleep(1100);
    }
    for (const name of names) await api.delete(nodePath(name));
  });

  test('says who has set a field that it wants to set, and takes it over when told to', async () => {
    const scaled = await controlPlane.kubectl([
      'patch',
      'deployment',
      'drydock',
      '-n',
      home,
      '-p',
      '{"spec":{"replicas":1}}',
    ]);
    assert.equal(scaled.code, 0, scaled.stderr);
    const conflict = await install();
    assert.equal(conflict.code, 1);
    const [failed, ...more] = linesOf(conflict).filter(line => line.includes('FAILED'));
    assert.deepEqual(more, []);
    assert.match(
      failed ?? '',
      /^deployment\.apps\/drydock FAILED: other field managers have set \.spec\.replicas \(conflict with "kubectl-patch".*--force-conflicts/,
    );
    assert.match(conflict.stderr, /^drydock: 1 of \d+ objects could not be applied; see above\n$/);
    const forced = await install('--force-conflicts');
    assert.equal(forced.code, 0, forced.stdout);
    assert.deepEqual(
      linesOf(forced).filter(line => !line.endsWith(' unchanged')),
      ['deployment.apps/drydock serverside-applied'],
    );
  });

  test('names the kinds that the cluster does not have, and applies the rest', async () => {
    const { code, stdout } = await install('--with', 'monitoring');
    assert.equal(code, 1);
    const failed = stdout.split('\n').filter(line => line.includes('FAILED'));
    assert.deepEqual(failed.sort(), [
      'prometheusrule.monitoring.coreos.com/drydock FAILED: this cluster has no PrometheusRule of monitoring.coreos.com/v1',
      'servicemonitor.monitoring.coreos.com/drydock FAILED: this cluster has no ServiceMonitor of monitoring.coreos.com/v1',
    ]);
    assert.match(stdout, /^configmap\/drydock-dashboard serverside-applied$/m);
  });

  test('leaves the oldest kind alone where it is namespaced', async () => {
    const crd = (await printed('--kind', 'kubevirt.io')).find(
      ({ metadata }) => metadata.name === 'nodemaintenances.kubevirt.io',
    );
    assert.ok(crd);
    await create(api, { ...crd, spec: { ...(crd['spec'] as object), scope: 'Namespaced' } });
    const { code, stdout } = await install('--without', 'monitoring', '--kind', ...legacy);
    assert.equal(code, 0, stdout);
    assert.match(
      stdout,
      /^customresourcedefinition\.apiextensions\.k8s\.io\/nodemaintenances\.kubevirt\.io left alone: its scope in this cluster is Namespaced/m,
    );
    assert.match(
      stdout,
      /^customresourcedefinition\.apiextensions\.k8s\.io\/nodemaintenances\.nodemaintenance\.kubevirt\.io serverside-applied$/m,
    );
    await api.delete(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.kubevirt.io',
    );
  });

  test('wrong calls end with 2 and one line', async () => {
    for (const [args, text] of [
      [['--replicas', 'two'], /invalid value "two" for --replicas: expected a whole number/],
      [['--namespace', 'No_Name'], /--namespace is "No_Name"/],
      [['--kind', 'example.test'], /unknown group "example\.test"; available: /],
      [['--without', 'webhook', '--with', 'cert-manager'], /cert-manager is for the webhook/],
      [
        ['--with', 'magic'],
        /Allowed choices are machine-api, virtual-machines, plans, agent, monitoring, cert-manager, control-plane/,
      ],
    ] as const) {
      const { code, stdout, stderr } = await drydock(['install', ...args]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, text);
    }
  });

  test('the Deployment calls the operator with flags that it has', async () => {
    type Spec = {
      readonly template: {
        readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
      };
    };
    for (const flags of [[], ['--without', 'webhook'], ['--with', 'cert-manager']]) {
      const found = (await printed(...flags)).find(({ kind }) => kind === 'Deployment');
      assert.ok(found);
      const [container] = (found['spec'] as Spec).template.spec.containers;
      const { code, stderr } = await drydock([
        ...(container?.args ?? []),
        '--kubeconfig',
        '/there/is/none',
      ]);
      assert.equal(code, 2);
      assert.match(
        stderr,
        /^drydock: [^\n]*\/there\/is\/none[^\n]*\n$/,
        'the kubeconfig is all that it complains about',
      );
    }
  });

  test('an operator with the shipped roles alone serves the webhook, leads, drains a node past a budget, and gives it back', async () => {
    const name = 'deploy-3';
    await create(api, namespace('shop'), node(name));
    await nodesReady(api, [name]);
    const at = { namespace: 'shop', onNodes: [name] };
    const quick = { annotations: { 'drydock.test/gone-after': '50ms' } };
    const claiming = (claimName: string): Readonly<Record<string, unknown>> => ({
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    });
    await create(
      api,
      ...storage('shop', 'claimed'),
      ...storage('shop', 'kept'),
      attachment('claimed', name),
    );
    await create(
      api,
      deployment('web', { ...at, ...quick, replicas: 2 }),
      daemonSet('agent', { ...at, spec: claiming('kept') }),
    );
    await create(
      api,
      deployment('precious', { ...at, ...quick, spec: claiming('claimed') }),
      budget('precious', { namespace: 'shop', minAvailable: 1 }),
    );
    await until(
      'all pods to be ready',
      async () =>
        (await podsOn(api, name)).filter(
          ({ metadata, status }) => metadata.namespace === 'shop' && status.phase === 'Running',
        ).length === 4,
    );

    const [port = 0] = await freePorts(1);
    await callWebhookAt(api, port);
    const operator = await startOperator({
      flags: ['--leader-elect', `--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
    const object = maintenance(name, {
      drain: { ladder: [{ afterSeconds: 1, action: 'Delete' }] },
    });
    const collection = '/apis/drydock.dev/v1alpha1/maintenances';
    await until(
      'the webhook to be trusted',
      async () => (await api.call('POST', `${collection}?dryRun=All`, object)).status === 201,
    );
    await create(api, object);
    await until(
      'the budget to be overruled and the volume to be waited for',
      async () => {
        const { status } = await api.get<{ readonly status?: { readonly phase?: string } }>(
          maintenancePath(name),
        );
        return status?.phase === 'Detaching';
      },
      { deadlineMs: 60_000 },
    );
    await api.delete('/apis/storage.k8s.io/v1/volumeattachments/attached-claimed');
    await untilMaintenance(api, name, 'Drained');
    assert.equal((await getNode(api, name)).spec.unschedulable, true);
    await remove(api, maintenancePath(name));
    assert.equal((await getNode(api, name)).spec.unschedulable ?? false, false);
    await operator.running.stop();

    assert.deepEqual(
      await forbiddenCalls(controlPlane),
      [],
      'everything that it asked for is allowed by a shipped role',
    );
    const asked = await controlPlane.audit.since(0, 'drydock');
    const done = new Set(
      asked
        .filter(({ code }) => code < 300)
        .map(
          ({ verb, resource, subresource }) =>
            `${verb} ${resource}${subresource && `/${subresource}`}`,
        ),
    );
    const drain = [
      'patch nodes',
      'patch nodes/status',
      'patch pods/status',
      'delete pods',
      'get persistentvolumeclaims',
      'create events',
    ];
    for (const call of [
      ...drain,
      'create pods/eviction',
      'create secrets',
      'patch validatingwebhookconfigurations',
      'update leases',
    ])
      assert.ok(done.has(call), `${call} is among ${[...done].join(', ')}`);
  });

  test('the roles for people are enough for what they are for, and no more', async () => {
    for (const [user, role] of [
      ['viewer', 'drydock-maintenance-viewer'],
      ['editor', 'drydock-maintenance-editor'],
      ['drainer', 'drydock-drainer'],
    ] as const) {
      const bound = await controlPlane.kubectl([
        'create',
        'clusterrolebinding',
        user,
        `--clusterrole=${role}`,
        `--user=${user}`,
      ]);
      assert.equal(bound.code, 0, bound.stderr);
    }
    await removeWebhook(api);
    const name = 'deploy-4';
    await create(api, node(name), deployment('lonely', { namespace: 'shop', onNodes: [name] }));
    await until('its pod to run', async () =>
      (await podsOn(api, name)).some(({ status }) => status.phase === 'Running'),
    );
    const mark = controlPlane.audit.mark();

    const file = join(controlPlane.folder, 'maintenance.json');
    writeFileSync(file, JSON.stringify(maintenance(name)));
    const created = await controlPlane.kubectl(['create', '-f', file], { user: 'editor' });
    assert.equal(created.code, 0, created.stderr);
    const seen = await as('viewer', 'status');
    assert.equal(seen.code, 0, seen.stderr);
    assert.match(seen.stdout, /deploy-4/);
    const deleted = await controlPlane.kubectl(['delete', '-f', file], { user: 'editor' });
    assert.equal(deleted.code, 0, deleted.stderr);
    const drained = await as('drainer', 'drain', name, '--ignore-daemonsets', '--timeout=30s');
    assert.equal(drained.code, 0, drained.stdout + drained.stderr);
    const forbidden = (await controlPlane.audit.since(mark)).filter(({ forbidden }) => forbidden);
    assert.deepEqual(
      forbidden.map(({ user, verb, path }) => `${user} ${verb} ${path}`),
      [],
    );

    for (const user of ['viewer', 'drainer']) {
      const refused = await controlPlane.kubectl(['create', '-f', file], { user });
      assert.match(refused.stderr, /cannot create resource "maintenances"/);
    }
    const evict = await controlPlane.kubectl(['auth', 'can-i', 'create', 'pods/eviction', '-A'], {
      user: 'editor',
    });
    assert.equal(evict.stdout.trim(), 'no');
  });
});
