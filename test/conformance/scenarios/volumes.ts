import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { isGoing, type Thing } from './thing.ts';

function volume(at: Place, name: string, storage = '1Gi', spec: object = {}): Promise<Thing> {
  return at.make('volumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: at.name(name), labels: { scenario: at.id } },
    spec: {
      capacity: { storage },
      accessModes: ['ReadWriteOnce'],
      storageClassName: at.id,
      csi: { driver: 'example.test', volumeHandle: `${name}-${at.id}` },
      ...spec,
    },
  });
}

function claim(at: Place, name: string, storage = '1Gi', spec: object = {}): Promise<Thing> {
  return at.make('claims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage } },
      storageClassName: at.id,
      ...spec,
    },
  });
}

function bound(at: Place, name: string): Promise<Thing> {
  return at.until(`${name} to be bound, and said to be used or not`, () => {
    const found = at.find('claims', name);
    const conditions = (found?.status?.['conditions'] ?? []) as readonly {
      readonly type: string;
    }[];
    return found?.status?.['phase'] === 'Bound' && conditions.some(({ type }) => type === 'Unused')
      ? found
      : undefined;
  });
}

function phase(at: Place, name: string, wanted: string): Promise<unknown> {
  return at.until(
    `${name} to be ${wanted}`,
    () => at.find('volumes', at.name(name))?.status?.['phase'] === wanted,
  );
}

const data = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };

export const volumes: readonly Scenario[] = [
  {
    name: 'a claim gets the smallest volume that is large enough, and when it is gone the volume is released',
    run: async at => {
      // Kubernetes' binder takes note of a volume only after its phase has been answered, so we may
      // see "Available" before it does.
      // It takes one volume after the other: once the last one is Available, it knows those that
      // fit.
      for (const [name, storage] of [
        ['large', '5Gi'],
        ['right', '2Gi'],
        ['small', '1Gi'],
      ] as const) {
        await volume(at, name, storage);
        await phase(at, name, 'Available');
      }
      await claim(at, 'data', '2Gi');
      at.note('volume', (await bound(at, 'data')).spec?.['volumeName']);
      await phase(at, 'right', 'Bound');
      await at.delete('claims', 'data');
      await phase(at, 'right', 'Released');
    },
  },
  {
    name: 'a volume that is meant for a claim, and a claim that names its volume',
    run: async at => {
      await volume(at, 'meant', '1Gi', {
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: at.namespace,
          name: 'data',
        },
      });
      await phase(at, 'meant', 'Available');
      await claim(at, 'data');
      await bound(at, 'data');
      await volume(at, 'named');
      await phase(at, 'named', 'Available');
      await claim(at, 'other', '1Gi', { volumeName: at.name('named') });
      await bound(at, 'other');
    },
  },
  {
    name: 'the volume of a pod is attached to its node, and detached when the pod has gone',
    run: async at => {
      // A real kubelet says by this that the controller is to attach its volumes; kwok does not.
      await at.nodes(['n1'], {
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      });
      await volume(at, 'disk');
      await phase(at, 'disk', 'Available');
      await claim(at, 'data');
      await bound(at, 'data');
      await at.pod('one', { pod: data });
      await at.up(1);
      const attached = await at.until('the attachment', () => at.all('attachments')[0]);
      at.note('attachment', [attached.spec?.['attacher'], attached.spec?.['source']]);
      // The driver's part, which the embedded cluster plays itself.
      await at.patchStatus('attachments', attached.metadata.name, { status: { attached: true } });
      await at.until(
        'the volume to be attached',
        () => at.all('attachments')[0]?.status?.['attached'] === true,
      );
      await at.until('the controller to know', () =>
        at.all('events').some(event => event['reason'] === 'SuccessfulAttachVolume'),
      );
      await at.delete('claims', 'data');
      await at.until(
        'the claim to wait for the pod',
        () => at.find('claims', 'data') !== undefined && at.all('claims').every(isGoing),
      );
      await at.delete('pods', 'one');
      await at.until('the pod to go', () => at.pods.length === 0);
      await at.until('no attachment', () => at.all('attachments').length === 0);
      await phase(at, 'disk', 'Released');
    },
    // Nobody plays the driver for the real control plane: it waits for it, and says so.
    leaving: { events: ['FailedAttachVolume', 'FailedMount'] },
  },
];
