import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { crdTexts } from '@drydock/apis/crds';
import { createCluster, load, seeded } from '@drydock/kube-sim';
import { fullObject } from '@drydock/kube-sim/testing';
import { systemClock } from '@drydock/utils';
import { parse } from 'yaml';
import { writeCopy } from './files.ts';
import { copiedKinds } from './kept.ts';
import { keptFields, redacted } from './kept-fields.ts';

/**
 * A marker in every string of every field of every kind that is copied: where may it be found
 * again?
 */

const marker = 'MARKER';

const cluster = createCluster({ clock: systemClock, random: seeded(1) });
load(
  cluster.registry,
  crdTexts([
    'drydock.dev',
    'nodemaintenance.medik8s.io',
    'nodemaintenance.kubevirt.io',
    'kubevirt.io',
  ]).map(text => parse(text) as JsonObject),
);

/** KubeVirt's schemas are not here: what stands in its objects, by hand. */
const vm = {
  domain: {
    firmware: { serial: marker },
    devices: { disks: [{ name: marker, serial: marker }] },
    memory: { guest: '1Gi' },
  },
  accessCredentials: [{ sshPublicKey: { source: { secret: { secretName: marker } } } }],
  volumes: [
    { name: 'a', cloudInitNoCloud: { userData: marker, networkDataBase64: marker } },
    { name: 'b', cloudInitConfigDrive: { userDataBase64: marker } },
    {
      name: 'c',
      sysprep: { secret: { name: marker } },
      serviceAccount: { serviceAccountName: marker },
    },
  ],
  networks: [{ name: marker, multus: { networkName: marker } }],
};
const byHand: Readonly<Record<string, JsonObject>> = {
  VirtualMachine: {
    spec: { template: { metadata: { annotations: { [marker]: marker } }, spec: vm } },
    status: { conditions: [{ type: 'x', message: marker }], startFailure: { x: marker } },
  },
  VirtualMachineInstance: {
    spec: vm,
    status: {
      conditions: [{ type: 'x', message: marker }],
      interfaces: [{ mac: marker }],
      guestOSInfo: { name: marker },
    },
  },
  VirtualMachineInstanceMigration: {
    spec: { vmiName: 'v', addedNodeSelector: { a: marker } },
    status: {
      conditions: [{ type: 'x', message: marker }],
      migrationState: { failureReason: marker },
    },
  },
  KubeVirt: {
    spec: { configuration: { developerConfiguration: { x: marker } }, imagePullSecrets: [marker] },
    status: { conditions: [{ type: 'x', message: marker }] },
  },
};

function full({ apiVersion, kind, plural }: (typeof copiedKinds)[number]): JsonObject {
  const [group = '', version = ''] = apiVersion.includes('/')
    ? apiVersion.split('/')
    : ['', apiVersion];
  const served = cluster.registry.kinds.at(group, version, plural);
  const object =
    served === undefined
      ? { ...byHand[kind], apiVersion, kind, metadata: { name: 'x' } }
      : fullObject(served, path => `${marker} ${path}`);
  // StorageClass is not served here.
  return kind === 'StorageClass'
    ? {
        apiVersion,
        kind,
        metadata: { name: 'x', annotations: { [marker]: marker } },
        provisioner: 'p',
        parameters: { password: marker },
        mountOptions: [marker],
      }
    : object;
}

function within(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Where the marker stands, in keys of maps too. */
function pathsIn(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'string') return value.includes(marker) ? [path] : [];
  if (Array.isArray(value)) return value.flatMap(one => pathsIn(one, `${path}[]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key.includes(marker)
      ? [`${path}{}`, ...pathsIn(one, `${path}.*`)]
      : pathsIn(one, within(path, key)),
  );
}

/**
 * A name of something, a choice among words of Kubernetes, a selector or an amount: what may stand
 * in a snapshot. Written down here once more, by what the last step is called.
 */
const harmless = new Set(
  (
    'apiVersion kind name namespace uid resourceVersion generateName finalizers[] labels{} labels.* matchLabels{} matchLabels.* matchLabelKeys[] mismatchLabelKeys[] key operator values[] ' +
    'topologyKey namespaces[] effect type status reason phase nodeName node nodeUID stage level revision runID id planName planUID word domains{} domains.* bootIDBefore heldAs mark podUID image imageID imagePullPolicy ' +
    'restartPolicy protocol hostIP mountPath devicePath nodeSelector{} nodeSelector.* overhead{} limits{} requests{} capacity{} allocatable{} preemptionPolicy priorityClassName runtimeClassName schedulerName ' +
    'serviceAccountName subdomain hostname conditionType podGroupName whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy medium claimName accessModes[] storageClassName volumeMode volumeName ' +
    'podCIDR podCIDRs[] providerID address volumesInUse[] architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID operatingSystem osImage systemUUID ' +
    'nominatedNodeName qosClass persistentVolumeReclaimPolicy driver volumeHandle maxUnavailable minAvailable maxSurge unhealthyPodEvictionPolicy disruptedPods{} currentRevision updateRevision ' +
    'whenDeleted whenScaled podManagementPolicy serviceName completionMode managedBy podReplacementPolicy action containerName completedIndexes failedIndexes succeededIndexes failed[] succeeded[] ' +
    'attacher persistentVolumeName expression expressions[] timeZone cron start duration from to expectedDuration ownerKinds[] notMigratable notMigrated volume reason budgets[] pod progress scope waitingFor upNext[] ' +
    'maxInFlight maxFailures direction by[] first[] on at refuse[] refuse before pendingPods[] membership controlPlane foreignCordon mode windows run onDelete drainStuck failed weekdays[] begun{} agreed{} agreed.* at[] verdicts{} rebooted onFalse checks[] onFailure state verdict step atEnd missed events[] kinds[] paused stopped active localDisk failure strategy'
  ).split(' '),
);
/** The value of a taint or a toleration. */
const values = /(tolerations|taints)\[\]\.value$/;
/** Expressions of plans ask for any annotation of a node. */
const annotations = /^metadata\.annotations(\{\}|\.\*)$/;

describe('a snapshot', () => {
  for (const copied of copiedKinds)
    test(`of ${copied.kind} (${copied.apiVersion}) has what a rehearsal reads, and no text of others`, () => {
      const object = full(copied);
      assert.ok(pathsIn(object).length > 2, 'there is something to leave out');
      const kept = pathsIn(redacted(object));
      const odd = kept.filter(path => {
        const last = /(?:^|\.)([^.]+(?:\.\*)?)$/.exec(path.replace(/\[\]$/, '[]'))?.[1] ?? path;
        return (
          !harmless.has(last) &&
          !values.test(path) &&
          !(copied.kind === 'Node' && annotations.test(path))
        );
      });
      assert.deepEqual(odd, []);
    });

  test('has nothing of a field that nobody has put on the list, however deep it is', () => {
    const planted = (value: Json): Json => {
      if (Array.isArray(value)) return (value as readonly Json[]).map(planted);
      if (!isObject(value)) return value;
      return {
        ...Object.fromEntries(
          Object.entries(value).map(([key, one]) => [key, one === undefined ? one : planted(one)]),
        ),
        unheardOf: 'SECRET',
        message: 'SECRET',
      };
    };
    const free =
      /"(labels|matchLabels|nodeSelector|overhead|limits|requests|capacity|allocatable|disruptedPods|domains|drain|due|done|workloads)":/;
    for (const copied of copiedKinds) {
      const [, served] = [free, full(copied)];
      const { spec, status } = redacted({
        ...served,
        spec: planted(served['spec'] ?? {}),
        status: planted(served['status'] ?? {}),
      });
      const own = JSON.stringify([spec, status], (key, value: unknown) =>
        free.test(`"${key}":`) ? undefined : value,
      );
      if (!copied.apiVersion.startsWith('drydock.dev'))
        assert.doesNotMatch(own, /SECRET|unheardOf/, copied.kind);
    }
  });

  test('written to files it has no message, no argument and no variable of anybody', () => {
    const folder = mkdtempSync(join(tmpdir(), 'drydock-marker-'));
    try {
      writeCopy(folder, {
        snapshotTime: systemClock.now(),
        objects: copiedKinds.map(copied => redacted(full(copied))),
        leftOut: [],
      });
      const all = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'));
      assert.ok(all.length > 10);
      const secret =
        /MARKER [^"]*(message|args|command|env\[\]\.value|httpHeaders|volumeAttributes|parameters|mountOptions|secret|Secret|options|userData|description|requester|gates\[\]\.(promql|alerts|object))[^"]*/g;
      assert.deepEqual(
        all.flatMap(text => text.match(secret) ?? []),
        [],
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('every kind that is copied has its list', () => {
    assert.deepEqual(
      [...new Set(copiedKinds.map(({ kind }) => kind))].sort(),
      Object.keys(keptFields).sort(),
    );
  });

  test('annotations that carry whole objects or what agents were started with are in none, of nodes neither', () => {
    const annotations = {
      'k3s.io/node-args': 'SECRET',
      'k3s.io/node-env': 'SECRET',
      'kubectl.kubernetes.io/last-applied-configuration': 'SECRET',
      'cloud.example.com/notice': 'reboot',
    };
    assert.deepEqual(redacted({ kind: 'Node', metadata: { annotations } }), {
      kind: 'Node',
      metadata: { annotations: { 'cloud.example.com/notice': 'reboot' } },
    });
  });
});
