import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { instanceOf } from '@drydock/core/machine';
import { providerForms } from '@drydock/core/testing';
import { type FakeCluster, uidOf } from '../testing/fake-cluster.ts';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';

/**
 * A machine is who it is by every name that its provider has for it, whether its Machine knows its
 * node or not.
 */

function sent(
  subject: string,
): Parameters<ReturnType<typeof machineBench>['manager']['receive']>[0][number] {
  return announced('', {
    provider: 'https://dc.example',
    source: 'cloudevents',
    kind: 'freeze',
    instance: subject,
    resource: subject,
  });
}

function noticeOf(node: string, provider: string, instance: string): JsonObject {
  return {
    metadata: { name: node, uid: 'notice' },
    spec: {
      provider,
      instance,
      observedTime: '2026-01-01T00:00:00Z',
      events: [announced(instance, { kind: 'freeze' }) as unknown as JsonObject],
    },
  };
}

function machineMaintenances({ cluster }: { readonly cluster: FakeCluster }): readonly string[] {
  return cluster.written.filter(
    one => one.startsWith('POST') && one.endsWith('/machinemaintenances'),
  );
}

for (const {
  name,
  providerId,
  instance,
  alsoCalled = [],
  notCalled = [],
  told = [],
  isEc2,
} of providerForms)
  describe(name, () => {
    const alone = (furniture: Furniture): void => {
      furniture.machineApi();
      furniture.node('the-node', providerId);
    };

    test('an event finds its node by each of its names, and not by those of others', async () => {
      for (const subject of [
        providerId,
        ...(instance === undefined ? [] : [instance]),
        ...alsoCalled,
      ]) {
        const bench = machineBench(alone);
        await bench.wait(1);
        assert.equal(await bench.manager.receive([sent(subject)]), 'stored', subject);
        assert.equal(
          bench.part(paths.request('mm-the-node'), 'spec')['machineid'],
          instance ?? 'the-node',
        );
        // Another name of it is no other machine.
        await bench.wait(1);
        assert.equal(await bench.manager.receive([{ ...sent(providerId), id: 'other' }]), 'stored');
        await bench.wait(1);
        assert.equal(machineMaintenances(bench).length, 1, subject);
        await bench.end();
      }
      const bench = machineBench(alone);
      await bench.wait(1);
      for (const subject of notCalled)
        assert.notEqual(await bench.manager.receive([sent(subject)]), 'stored', subject);
      await bench.end();
    });

    test('an event finds its Machine, and the agent of its node speaks for it', async () => {
      for (const [provider, said, own] of told) {
        const bench = machineBench((furniture, cluster) => {
          alone(furniture);
          cluster.put(paths.notice('the-node'), noticeOf('the-node', provider, said));
        });
        await bench.wait(1);
        assert.equal(machineMaintenances(bench).length, own ? 1 : 0, `${provider} ${said}`);
        assert.deepEqual(
          bench.recorder.reasons.filter(reason => reason === 'NotOwnNode'),
          own ? [] : ['NotOwnNode'],
        );
        await bench.end();
      }
      const bench = machineBench((furniture, cluster) => {
        alone(furniture);
        cluster.put(paths.machine('m'), machineWithout('m', providerId));
      });
      await bench.wait(1);
      assert.equal(await bench.manager.receive([sent(providerId)]), 'stored');
      const { machineRef, nodeName } = bench.part(paths.request('mm-m'), 'spec');
      assert.deepEqual(
        [(machineRef as JsonObject)['name'], nodeName],
        ['m', 'the-node'],
        'its status names no node',
      );
      await bench.end();
    });

    test(
      isEc2
        ? 'EC2 is asked about it'
        : 'EC2 is not asked about it, and nothing is wrong with its source',
      async () => {
        const bench = machineBench(furniture => {
          alone(furniture);
          furniture.node('instance', 'aws:///us-east-1a/i-00000000');
          furniture.source('cloud');
        });
        await bench.wait(1);
        assert.deepEqual(bench.cloud.looks, [
          `cloud: ${[...(isEc2 ? [providerId] : []), 'aws:///us-east-1a/i-00000000'].toSorted().map(instanceOf).join()}`,
        ]);
        assert.deepEqual(bench.recorder.reasons, []);
        await bench.end();
      },
    );
  });

/** A Machine whose controller has not noted its node. */
function machineWithout(name: string, providerID?: string, status: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'Machine',
    metadata: {
      name,
      namespace: 'machines',
      ownerReferences: [
        { kind: 'MachineSet', name: 'workers', uid: uidOf(paths.set('workers')), controller: true },
      ],
    },
    spec: { ...(providerID !== undefined && { providerID }) },
    status,
  };
}

describe('a Machine whose status names no node', () => {
  const id = 'aws:///us-east-1a/i-0123456789abcdef0';
  const request = paths.request('mm-m1');
  const child = paths.maintenance('mm-m1-mmm1-uid');
  const occupied = (cluster: FakeCluster): void => {
    const [name, namespace] = ['a', 'shop'];
    cluster.put('/api/v1/namespaces/shop/pods/a', {
      metadata: { name, namespace },
      spec: { nodeName: 'n1' },
      status: { phase: 'Running' },
    });
    cluster.put('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/b', {
      metadata: { name, namespace, generation: 1 },
      spec: { selector: {} },
      status: { observedGeneration: 1, disruptionsAllowed: 0 },
    });
  };
  type Scene = {
    readonly node?: string;
    readonly machine?: JsonObject;
    readonly late?: true;
    readonly kind?: 'retirement' | 'reboot';
  };
  const after = async ({
    node,
    machine = machineWithout('m1', id),
    late,
    kind = 'retirement',
  }: Scene) => {
    const due = Temporal.Instant.from('2026-01-01T00:10:00Z');
    const bench = machineBench((furniture, cluster) => {
      furniture.machineApi();
      furniture.set('workers', 1);
      cluster.put(paths.machine('m1'), machine);
      if (late === undefined) furniture.node('n1', node);
      occupied(cluster);
    });
    await bench.wait(1);
    if (late) {
      bench.cluster.silent = true;
      bench.furniture.node('n1', node);
      bench.cluster.silent = false;
    }
    const { instance: _none, ...event } = announced('', {
      provider: 'dc',
      source: 'cloudevents',
      kind,
      deadline: due,
      notBefore: due,
    });
    assert.equal(await bench.manager.receive([{ ...event, instance: 'm1' }]), 'stored');
    await bench.wait(30);
    const { phase, waitingFor, message } = bench.part(request, 'status') as Readonly<
      Record<string, string>
    >;
    const found = {
      said: `${phase} ${waitingFor}`,
      message: message ?? '',
      drains: bench.cluster.get(child) !== undefined,
    };
    assert.equal(
      bench.cluster.get(paths.machine('m1')) !== undefined || node === undefined,
      true,
      'the machine is there',
    );
    await bench.end();
    return found;
  };

  test('and whose node has its providerID: held and drained first, within budgets, whatever is announced', async () => {
    for (const kind of ['retirement', 'reboot'] as const)
      assert.partialDeepStrictEqual(await after({ node: id, kind }), {
        said: 'Draining Drain',
        drains: true,
      });
  });

  test('and whose node no watch has told of: nothing is deleted before the API server has been asked', async () => {
    assert.partialDeepStrictEqual(await after({ node: id, late: true }), {
      said: 'Draining NodeUnknown',
      drains: false,
    });
  });

  test('and which node it is cannot be proven: nothing is done, and it is said why', async () => {
    const scenes: readonly Scene[] = [
      {
        machine: machineWithout('m1', id, { addresses: [{ type: 'InternalDNS', address: 'n1' }] }),
      },
      {
        machine: machineWithout('m1', undefined, {
          addresses: [{ type: 'Hostname', address: 'n1' }],
        }),
        node: id,
      },
    ];
    for (const scene of scenes) {
      const { said, message, drains } = await after(scene);
      assert.deepEqual([said, drains], ['Pending NodeNotIdentified', false]);
      assert.match(message, /has no spec.providerID, which would prove that/);
    }
  });

  test('and without a node at all: a reboot has nothing to drain until one joins, a retirement deletes it', async () => {
    for (const kind of ['reboot', 'retirement'] as const) {
      const bench = machineBench((furniture, cluster) => {
        furniture.machineApi();
        furniture.set('workers', 1);
        cluster.put(paths.machine('m1'), machineWithout('m1', id));
      });
      const due = Temporal.Instant.from('2026-01-01T00:10:00Z');
      await bench.wait(1);
      await bench.manager.receive([{ ...sent(id), kind, deadline: due, notBefore: due }]);
      await bench.wait(30);
      const { phase, waitingFor } = bench.part(request, 'status');
      if (kind === 'retirement')
        assert.deepEqual(
          [phase, waitingFor, bench.cluster.get(paths.machine('m1'))],
          ['Replacing', 'Replacement', undefined],
        );
      else {
        assert.deepEqual([phase, waitingFor], ['Scheduled', 'NoNode']);
        bench.furniture.node('n1', id);
        await bench.wait(5);
        assert.equal(bench.part(request, 'status')['phase'], 'Drained');
      }
      await bench.end();
    }
  });
});
