import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { MachineMaintenanceSpec, MachineMaintenanceStatus } from '@drydock/apis/schema';
import { serving } from '@drydock/utils/testing';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { clientsFor } from '../control-plane/objects/api.ts';
import { budgetAllows, create, getNode, podsOn } from '../control-plane/objects/cluster.ts';
import { budget, type Manifest, namespace } from '../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../control-plane/objects/objects.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, startHarness } from '../operator/harness/harness.ts';
import {
  isHeld,
  makeNode,
  ourTaints,
  podAt,
  remove,
  untilEvent,
  untilGone,
  untilPods,
} from '../operator/harness/look.ts';
import { main } from '../operator/harness/shipped.ts';
import { skipOf } from './builds.ts';
import { type Ec2Emulator, startEc2 } from './ec2/ec2.ts';
import { startMetadata } from './ec2/metadata.ts';

/**
 * Announcements that do not come from a machine API: from agents, from nodes themselves, from
 * anybody with the token, and from a great many machines.
 */

const ec2Started = await startEc2();
const started =
  ec2Started.kind === 'left-out' ? ec2Started : await startHarness({ roles: ['machine-api'] });
const harness = started as OperatorHarness;
const ec2 = ec2Started as Ec2Emulator;

type MachineMaintenance = {
  readonly metadata: Metadata;
  readonly spec: MachineMaintenanceSpec;
  readonly status?: MachineMaintenanceStatus;
};

const mms =
  '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances';
const sources = '/apis/drydock.dev/v1alpha1/machineeventsources';
const notices = '/apis/drydock.dev/v1alpha1/nodenotices';
const token = 'a-token-of-the-test';
/** Whose metadata the mock tells when nothing else is said. */
const mockInstance = 'i-1234567890abcdef0';

function source(name: string, spec: object): Manifest {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MachineEventSource',
    metadata: { name },
    spec,
  };
}

describe('announcements', {
  skip: started.kind === 'left-out' ? skipOf(started) : false,
  timeout: 600_000,
}, () => {
  const { api, controlPlane } = harness;
  let intake = '';

  before(async () => {
    const installed = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-k',
      join(import.meta.dirname, '..', '..', 'deploy', 'agent'),
    ]);
    assert.equal(installed.code, 0, installed.stderr);
    await create(api, namespace('shop'));
    const [port = 0] = await freePorts(1);
    intake = `http://127.0.0.1:${port}/`;
    const file = join(controlPlane.folder, 'token');
    writeFileSync(file, `${token}\n`);
    const flags = [
      `--event-intake-bind-address=127.0.0.1:${port}`,
      `--event-intake-token-file=${file}`,
      '--event-intake-type',
      'com.example.firmware=reboot',
      `--allowed-aws-endpoint=${ec2.endpoint}`,
    ];
    await harness.startOperator({
      flags,
      environment: { AWS_ACCESS_KEY_ID: 'testing', AWS_SECRET_ACCESS_KEY: 'testing' },
    });
  });
  after(async () => {
    await harness.stop();
    await ec2.stop();
  });

  const machineNode = async (name: string, instance: string): Promise<object> => {
    const face = await makeNode(api, name, {});
    await api.patch(`/api/v1/nodes/${name}`, {
      spec: { providerID: `aws:///us-east-1a/${instance}` },
    });
    return face;
  };
  const untilMm = (
    name: string,
    what: string,
    isWanted: (mm: MachineMaintenance) => boolean,
  ): Promise<MachineMaintenance> =>
    waitFor(`mm-${name} to be ${what}`, async () => {
      const found = await api.get<MachineMaintenance>(`${mms}/mm-${name}`);
      return isWanted(found)
        ? { done: found }
        : { yet: JSON.stringify(found.status ?? found.spec) };
    });

  /** The token that the pod of an agent has, bound to the pod and so to its node. */
  const tokenOn = async (node: string): Promise<string> => {
    const { metadata } = await waitFor('the agent of the DaemonSet', async () => {
      const pod = (await podsOn(api, node)).find(one => one.metadata.namespace === 'drydock-agent');
      return pod === undefined ? { yet: 'no pod' } : { done: pod };
    });
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid },
      },
    };
    const { status } = await api.post<{ readonly status: { readonly token: string } }>(
      '/api/v1/namespaces/drydock-agent/serviceaccounts/drydock-agent/token',
      request,
    );
    return status.token;
  };
  const kubeconfigWith = (node: string, bearer: string): string => {
    const { server, ca } = controlPlane.accessOf('admin');
    return writeKubeconfig(join(controlPlane.folder, `agent-${node}.kubeconfig`), 'agent', {
      server,
      ...(ca !== undefined && { ca }),
      token: bearer,
    });
  };

  test('an agent hears of a spot interruption: drained at once, with a grace period that fits, and nobody else is spoken for', async context => {
    await machineNode('spot', mockInstance);
    await machineNode('other', 'i-0aaaaaaaaaaaaaaa1');
    await create(
      api,
      podAt('spot', 'slow', { namespace: 'shop', spec: { terminationGracePeriodSeconds: 3600 } }),
    );
    await untilPods(api, 'spot', 2);
    const bearer = await tokenOn('spot');
    const mock = await startMetadata({ serves: 'spot', tokensOnly: true });
    assert.equal(mock.kind, 'started');
    if (mock.kind !== 'started') return;
    const kubeconfig = kubeconfigWith('spot', bearer);
    const { server, ca } = controlPlane.accessOf('admin');
    const { apiOf, close } = clientsFor(() => ({
      server,
      ...(ca !== undefined && { ca }),
      token: bearer,
    }));
    const asAgent = apiOf('agent');
    const since = performance.now();
    const args = [
      main,
      'agent',
      '--kubeconfig',
      kubeconfig,
      '--node-name',
      'spot',
      '--provider',
      'aws',
      '--metadata-endpoint',
      mock.endpoint,
    ];
    const agent = controlPlane.run({
      name: 'agent',
      command: process.execPath,
      args,
      patience: '5s',
    });
    const mm = await untilMm('spot', 'begun', ({ status }) => status?.startTime !== undefined);
    context.diagnostic(
      `from the start of the agent to the beginning ${((performance.now() - since) / 1000).toFixed(2)} s`,
    );
    assert.deepEqual(mm.spec.events?.map(({ kind, source }) => `${kind} ${source}`).sort(), [
      'preemption agent/aws',
      'rebalance agent/aws',
    ]);
    type Draining = {
      readonly spec: { readonly drain: { readonly maxGracePeriodSeconds: number } };
    };
    // It is made right after the beginning has been stored.
    const { spec } = await waitFor('its Maintenance', async () => ({
      done: await api.get<Draining>(
        `/apis/drydock.dev/v1alpha1/maintenances/${mm.status?.maintenanceName}`,
      ),
    }));
    assert.ok(
      spec.drain.maxGracePeriodSeconds >= 60 && spec.drain.maxGracePeriodSeconds <= 110,
      `${spec.drain.maxGracePeriodSeconds} s of an hour`,
    );
    await untilMm('spot', 'Drained', ({ status }) => status?.phase === 'Drained');
    assert.equal((await api.call('GET', '/api/v1/namespaces/shop/pods/slow')).status, 404);
    const elsewhere = await asAgent.call(
      'PATCH',
      `${notices}/other?fieldManager=x&force=true`,
      {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'NodeNotice',
        metadata: { name: 'other' },
        spec: {
          provider: 'aws',
          instance: 'i-0aaaaaaaaaaaaaaa1',
          observedTime: new Date().toISOString(),
          events: [],
        },
      },
      'application/apply-patch+yaml',
    );
    assert.equal(elsewhere.status, 403);
    assert.match(
      JSON.stringify(elsewhere.body),
      /an agent may write only the NodeNotice of its own node, not other/,
    );
    assert.equal((await asAgent.call('GET', '/api/v1/nodes/spot')).status, 403, 'it reads nothing');
    close();
    await agent.stop();
    await mock.stop();
    // The interruption is called off: its notice is gone.
    await api.patch(`${notices}/spot`, { spec: { events: [] } });
    await untilMm(
      'spot',
      'over',
      ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Cancelled',
    );
    await until(
      'the node to be released',
      async () => !isHeld(await getNode(api, 'spot'), ourTaints),
    );
  });

  /**
   * Runs the agent of a node against a metadata service that is made from the documents of its
   * cloud.
   */
  const agentOf = (node: string, provider: string, base: string, ...more: readonly string[]) =>
    controlPlane.run({
      name: `agent-${node}`,
      command: process.execPath,
      args: [
        main,
        'agent',
        '--kubeconfig',
        controlPlane.kubeconfig,
        '--node-name',
        node,
        '--provider',
        provider,
        '--metadata-endpoint',
        base,
        ...more,
      ],
      patience: '5s',
    });

  test('Azure: a reboot is announced, the nodes of the event are drained, Azure is told, and the nodes come back when the event is gone', async () => {
    const names = ['az-0', 'az-1'];
    const set =
      '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/pool';
    for (const [index, name] of names.entries()) {
      await makeNode(api, name, {});
      await api.patch(`/api/v1/nodes/${name}`, {
        spec: { providerID: `azure://${set}/virtualMachines/${index}` },
      });
    }
    const resources = names.map((_, index) => `pool_${index}`);
    let events: readonly object[] = [
      {
        EventId: 'E-1',
        EventStatus: 'Scheduled',
        EventType: 'Reboot',
        ResourceType: 'VirtualMachine',
        Resources: resources,
        NotBefore: new Date(Date.now() + 900_000).toUTCString(),
      },
    ];
    const started: string[] = [];
    const service = (index: number) =>
      serving(({ path, method, body }) => {
        if (path.startsWith('/metadata/instance/compute')) {
          return {
            text: JSON.stringify({
              name: `pool_${index}`,
              resourceId: `${set}/virtualMachines/${index}`,
              vmId: `v${index}`,
            }),
          };
        }
        if (method === 'POST') started.push(body);
        return method === 'POST'
          ? {}
          : { text: JSON.stringify({ DocumentIncarnation: 1, Events: events }) };
      });
    await using first = await service(0);
    await using second = await service(1);
    await create(
      api,
      ...['az-0', 'az-1'].map(name =>
        podAt(name, `keeper-${name}`, { namespace: 'shop', labels: { keeper: name } }),
      ),
    );
    await create(
      api,
      budget('keeper', { namespace: 'shop', minAvailable: 1, matchLabels: { keeper: 'az-1' } }),
    );
    // A pod that does not run yet goes without a word of its budget. The other one is the
    // DaemonSet's.
    await untilPods(api, 'az-1', 2);
    await budgetAllows(api, 'shop', 'keeper', 0);
    const agents = [
      agentOf('az-0', 'azure', first.base, '--acknowledge'),
      agentOf('az-1', 'azure', second.base, '--acknowledge'),
    ];
    await untilMm('az-0', 'Drained', ({ status }) => status?.phase === 'Drained');
    await untilMm('az-1', 'Draining', ({ status }) => status?.phase === 'Draining');
    await setTimeout(11_000);
    assert.deepEqual(started, [], 'one of the two is not drained yet');
    await api.patch('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/keeper', {
      spec: { minAvailable: 0 },
    });
    await untilMm('az-1', 'Drained', ({ status }) => status?.phase === 'Drained');
    await until('Azure to be told', async () => started.length > 0);
    assert.deepEqual(JSON.parse(started[0] ?? ''), { StartRequests: [{ EventId: 'E-1' }] });
    events = [];
    for (const name of names)
      await untilMm(
        name,
        'over',
        ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Cancelled',
      );
    await until('the nodes to be released', async () =>
      (await Promise.all(names.map(name => getNode(api, name)))).every(
        node => !isHeld(node, ourTaints),
      ),
    );
    await Promise.all(agents.map(agent => agent.stop()));
  });

  test('Google Cloud: a machine that is preempted is drained at once, and its notice goes with its node', async () => {
    await makeNode(api, 'gce', {});
    await api.patch('/api/v1/nodes/gce', { spec: { providerID: 'gce://project/zone-a/gce' } });
    let preempted = 'FALSE';
    await using service = await serving(({ path, headers }) => {
      if (headers['metadata-flavor'] !== 'Google') return { status: 403 };
      if (path.endsWith('/instance/name')) return { text: 'gce' };
      if (path.endsWith('/instance/preempted')) return { text: preempted };
      return path.endsWith('/instance/maintenance-event') ? { text: 'NONE' } : { status: 404 };
    });
    const agent = agentOf('gce', 'gcp', service.base);
    await until(
      'the first notice',
      async () => (await api.call('GET', `${notices}/gce`)).status === 200,
    );
    preempted = 'TRUE';
    const mm = await untilMm('gce', 'Drained', ({ status }) => status?.phase === 'Drained');
    assert.deepEqual(
      [mm.spec.events?.[0]?.kind, mm.status?.strategy, mm.status?.beganForDeadline],
      ['preemption', 'Drain', true],
    );
    await agent.stop();
    await remove(api, '/api/v1/nodes/gce');
    await untilMm('gce', 'over', ({ status }) => status?.phase === 'Succeeded');
    await untilGone(api, `${notices}/gce`);
    await untilGone(api, `/apis/drydock.dev/v1alpha1/maintenances/${mm.status?.maintenanceName}`);
  });

  test('a notice about a machine that its node is not is not believed', async () => {
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'NodeNotice',
      metadata: { name: 'other' },
      spec: {
        provider: 'aws',
        instance: 'i-0bbbbbbbbbbbbbbb2',
        observedTime: new Date().toISOString(),
        events: [
          { provider: 'aws', id: 'x', kind: 'retirement', state: 'Scheduled', source: 'agent' },
        ],
      },
    });
    const { metadata } = await api.get<{ readonly metadata: Metadata }>(`${notices}/other`);
    const event = await untilEvent(api, metadata.uid, 'NotOwnNode');
    assert.match(
      event.message,
      /the notice names machine i-0bbbbbbbbbbbbbbb2, but node other is machine i-0aaaaaaaaaaaaaaa1/,
    );
    assert.equal((await api.call('GET', `${mms}/mm-other`)).status, 404);
    // The notice of a node that is gone goes as well.
    await remove(api, '/api/v1/nodes/other');
    await untilGone(api, `${notices}/other`);
  });

  test('what a node itself says: drained while it says so, released when it does not any more', async () => {
    await machineNode('sick', 'i-0ccccccccccccccc3');
    await create(
      api,
      source('problems', {
        presets: ['node-problem-detector'],
        responses: [{ kinds: ['maintenance'], strategy: 'Drain' }],
      }),
    );
    await waitFor('the source to be ready', async () => {
      const { status } = await api.get<{
        readonly status?: { readonly conditions?: readonly { readonly reason: string }[] };
      }>(`${sources}/problems`);
      return status?.conditions?.[0]?.reason === 'Followed'
        ? { done: status }
        : { yet: JSON.stringify(status) };
    });
    const say = (status: string) =>
      api.call(
        'PATCH',
        '/api/v1/nodes/sick/status',
        {
          status: {
            conditions: [
              {
                type: 'KernelDeadlock',
                status,
                reason: 'AUFSUmountHung',
                message: 'task umount.aufs:123 blocked',
                lastTransitionTime: new Date().toISOString(),
              },
            ],
          },
        },
        'application/strategic-merge-patch+json',
      );
    await say('True');
    const mm = await untilMm('sick', 'Drained', ({ status }) => status?.phase === 'Drained');
    assert.deepEqual(
      [mm.spec.events?.[0]?.kind, mm.spec.events?.[0]?.state, mm.spec.events?.[0]?.source],
      ['maintenance', 'Active', 'problems'],
    );
    await say('False');
    await untilMm('sick', 'Succeeded', ({ status }) => status?.phase === 'Succeeded');
    await until(
      'the node to be released',
      async () => !isHeld(await getNode(api, 'sick'), ourTaints),
    );
    await remove(api, `${sources}/problems`);
  });

  test('anybody with the token: stored, moved, completed; without it, or about nobody here, refused', async () => {
    await machineNode('metal', 'i-0ddddddddddddddd4');
    const send = async (body: object, bearer = token) => {
      const response = await fetch(intake, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${bearer}`,
          'content-type': 'application/cloudevents+json',
        },
        body: JSON.stringify({
          specversion: '1.0',
          id: String(Math.random()),
          source: 'firmware',
          ...body,
        }),
      });
      return { status: response.status, text: (await response.text()).trim() };
    };
    const notBefore = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const event = {
      type: 'com.example.firmware',
      subject: 'metal',
      data: { id: 'job-7', notBefore },
    };
    assert.equal((await send(event, 'wrong')).status, 401);
    assert.deepEqual(await send({ ...event, subject: 'nobody' }), {
      status: 422,
      text: 'no node or machine of this cluster is called nobody',
    });
    assert.equal((await send(event)).status, 202);
    const mm = await untilMm('metal', 'Scheduled', ({ status }) => status?.phase === 'Scheduled');
    assert.equal(mm.spec.events?.[0]?.kind, 'reboot');
    assert.equal(
      Date.parse(mm.status?.scheduledTime ?? ''),
      Date.parse(notBefore) - 1800_000,
      'half an hour before',
    );
    const later = new Date(Date.parse(notBefore) + 3600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    assert.equal((await send({ ...event, data: { id: 'job-7', notBefore: later } })).status, 202);
    await untilMm(
      'metal',
      'moved',
      ({ status }) => Date.parse(status?.scheduledTime ?? '') === Date.parse(later) - 1800_000,
    );
    assert.equal((await send({ ...event, data: { id: 'job-7', state: 'cancelled' } })).status, 202);
    await untilMm('metal', 'Cancelled', ({ status }) => status?.phase === 'Cancelled');
  });

  test('500 machines with 60 events: a handful of calls to EC2, and nothing else for the 440 others', async context => {
    const instances = await ec2.runInstances(500);
    const nodes = instances.map(
      (id, index): Manifest => ({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: `m-${index}` },
        spec: { providerID: `aws:///us-east-1a/${id}` },
      }),
    );
    for (let at = 0; at < nodes.length; at += 50)
      await Promise.all(nodes.slice(at, at + 50).map(node => create(api, node)));
    for (const id of instances.slice(0, 60))
      await ec2.announce(id, {
        code: 'system-maintenance',
        notBefore: new Date(Date.now() + 7 * 86_400_000),
      });
    await ec2.clearCalls();
    const mark = controlPlane.audit.mark();
    await create(
      api,
      source('many', {
        aws: { endpoint: ec2.endpoint },
        responses: [{ kinds: ['maintenance'], strategy: 'Notify' }],
      }),
    );
    const many = await waitFor('all to be announced', async () => {
      const { items } = await api.get<List<MachineMaintenance>>(mms);
      const mine = items.filter(({ spec }) => spec.events?.[0]?.source === 'many');
      const notified = mine.filter(({ status }) => status?.phase === 'Notified');
      return notified.length === 60
        ? { done: mine }
        : { yet: `${mine.length}, ${notified.length} of them notified` };
    });
    assert.equal(many.length, 60);
    const { DescribeInstanceStatus = 0, ...others } = await ec2.calls();
    assert.deepEqual(others, {});
    assert.ok(DescribeInstanceStatus <= 10, `${DescribeInstanceStatus} calls`);
    const writes = (await controlPlane.audit.since(mark, 'drydock')).filter(({ verb }) =>
      ['create', 'patch', 'update', 'delete'].includes(verb),
    );
    const touched = new Set(
      writes
        .map(({ path }) =>
          /\/m-(\d+)|mm-m-(\d+)/
            .exec(path)
            ?.slice(1)
            .find(found => found !== undefined),
        )
        .filter(one => one !== undefined)
        .map(Number),
    );
    assert.ok(
      [...touched].every(index => index < 60),
      'machines without events are left alone',
    );
    context.diagnostic(
      `${DescribeInstanceStatus} calls to EC2, ${writes.length} writes for 60 events`,
    );
    assert.ok(writes.length <= 60 * 8, `${writes.length} writes`);
    // The next scan finds nothing new, and writes nothing but its own status.
    const again = controlPlane.audit.mark();
    await ec2.clearCalls();
    await api.patch(`${sources}/many`, { spec: { aws: { intervalSeconds: 3601 } } });
    await until(
      'the next scan',
      async () => ((await ec2.calls())['DescribeInstanceStatus'] ?? 0) >= 5,
    );
    await until('its report', async () => {
      const { metadata, status } = await api.get<{
        readonly metadata: Metadata & { readonly generation: number };
        readonly status: { readonly observedGeneration: number };
      }>(`${sources}/many`);
      return status.observedGeneration === metadata.generation;
    });
    const more = (await controlPlane.audit.since(again, 'drydock')).filter(({ verb }) =>
      ['create', 'patch', 'update', 'delete'].includes(verb),
    );
    assert.deepEqual(
      [...new Set(more.map(({ path }) => path.replace(/\?.*/, '')))].filter(
        path => !/\/(leases|events)/.test(path),
      ),
      [`${sources}/many/status`],
    );
  });
});
