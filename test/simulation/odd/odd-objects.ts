import type { Json, JsonObject } from '@drydock/apimachinery';
import { drain, event, type Maker, metadata } from './odd-parts.ts';
import { ofPlans } from './odd-plans.ts';
import { ofPlatforms } from './odd-platforms.ts';
import { type Chance, drawing, label, many, maybe, odd, pick } from './odd-values.ts';

/**
 * Objects as somebody hostile would write them: of the right shape, with the ends of every type in
 * it; and some of a wrong one.
 */

const ofNodes: readonly Maker[] = [
  (chance, draw, index) => [
    `/api/v1/namespaces/shop/pods/p${index}`,
    {
      metadata: metadata(chance, draw, `p${index}`, 'shop'),
      spec: {
        nodeName: pick(chance, ['n1', 'n2', 'n3']),
        containers: [{ name: 'main', image: 'example.test/odd:1' }],
        priority: maybe(chance, draw.int),
        terminationGracePeriodSeconds: maybe(chance, draw.int),
        volumes: maybe(chance, () =>
          many(chance, 3, () =>
            pick<JsonObject>(chance, [
              { name: 'a', emptyDir: {} },
              { name: 'b', persistentVolumeClaim: { claimName: draw.word() } },
              { ephemeral: {} },
            ]),
          ),
        ),
      },
      status: {
        phase: pick(chance, ['Running', 'Pending', 'Succeeded', draw.word()]),
        conditions: many(chance, 2, () => draw.condition('Ready', 'DisruptionTarget')),
      },
    },
  ],
  (chance, draw, index) => [
    `/api/v1/nodes/n${index % 4}`,
    {
      metadata: metadata(chance, draw, `n${index % 4}`),
      spec: {
        unschedulable: chance() < 0.3,
        providerID: draw.word(),
        taints: many(chance, 3, () => ({
          key: pick(chance, label),
          effect: pick(chance, ['NoSchedule', 'NoExecute', draw.word()]),
          value: draw.word(),
          timeAdded: draw.time(),
        })),
      },
      status: {
        conditions: many(chance, 4, () =>
          draw.condition('Ready', 'Drained', 'DrainInProgress', 'MaintenancePlanned'),
        ),
        nodeInfo: { bootID: draw.word() },
      },
    },
  ],
  (chance, draw, index) => [
    `/apis/policy/v1/namespaces/shop/poddisruptionbudgets/b${index % 8}`,
    {
      metadata: metadata(chance, draw, `b${index % 8}`, 'shop'),
      spec: {
        selector: draw.selector(),
        unhealthyPodEvictionPolicy: pick(chance, ['IfHealthyBudget', 'AlwaysAllow', draw.word()]),
      },
      status: {
        observedGeneration: draw.int(),
        disruptionsAllowed: draw.int(),
        currentHealthy: draw.int(),
        desiredHealthy: draw.int(),
        expectedPods: draw.int(),
        disruptedPods: draw.map(),
        conditions: many(chance, 2, () => draw.condition('DisruptionAllowed')),
      },
    },
  ],
  (chance, draw, index) => [
    `/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-n${index % 4}`,
    {
      metadata: metadata(chance, draw, `node-n${index % 4}`, 'leases'),
      spec: {
        holderIdentity: pick(chance, ['node-maintenance', draw.word()]),
        leaseDurationSeconds: draw.int(),
        acquireTime: draw.time(),
        renewTime: draw.time(),
        leaseTransitions: draw.int(),
      },
    },
  ],
  (chance, draw, index) => [
    `/apis/drydock.dev/v1alpha1/maintenances/m${index % 6}`,
    {
      metadata: metadata(chance, draw, `m${index % 6}`),
      spec: {
        nodeName: pick(chance, ['n1', 'n2', 'n3', draw.word()]),
        reason: draw.word(),
        level: pick(chance, ['Announce', 'Cordon', 'Drain']),
        start: maybe(chance, () => ({
          notBefore: draw.time(),
          deadline: draw.time(),
          expectedSeconds: draw.int(),
          windows: pick(chance, ['Respect', 'Ignore']),
        })),
        drain: drain(chance, draw),
      },
      status: maybe(chance, () => ({
        phase: pick(chance, ['Pending', 'Draining', 'Drained', 'Failed']),
        startTime: draw.time(),
        completionTime: draw.time(),
        leaseErrors: draw.int(),
        pods: { total: draw.int(), toEvict: draw.int(), gone: draw.int(), waiting: draw.int() },
        blockers: many(chance, 2, () => ({
          reason: draw.word(),
          startTime: draw.time(),
          message: draw.word(),
        })),
      })),
    },
  ],
  (chance, draw, index) => [
    `/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/nm${index % 4}`,
    {
      metadata: metadata(chance, draw, `nm${index % 4}`),
      spec: { nodeName: pick(chance, ['n1', 'n2', 'n3', draw.word()]), reason: draw.word() },
      status: maybe(chance, () => ({
        phase: draw.word(),
        lastUpdate: draw.time(),
        lastError: draw.word(),
        errorOnLeaseCount: draw.int(),
        evictionPods: draw.int(),
        pendingPods: many(chance, 3, draw.word),
      })),
    },
  ],
  (chance, draw, index) => [
    `/apis/drydock.dev/v1alpha1/maintenancewindows/w${index % 3}`,
    {
      metadata: metadata(chance, draw, `w${index % 3}`),
      spec: {
        timeZone: pick(chance, ['UTC', 'Europe/Berlin', draw.word()]),
        nodeSelector: maybe(chance, draw.selector),
        openings: maybe(chance, () =>
          many(chance, 3, () =>
            pick<JsonObject>(chance, [
              {
                cron: pick(chance, ['* * * * *', '0 22 * * *', '0 0 31 2 *', draw.word()]),
                duration: pick(chance, ['1m', '4h', '99999999999999h', draw.word()]),
              },
              { from: draw.time(), to: draw.time() },
            ]),
          ),
        ),
        freezes: maybe(chance, () =>
          many(chance, 3, () => ({ from: draw.time(), to: draw.time(), reason: draw.word() })),
        ),
        expectedDuration: maybe(chance, () =>
          pick(chance, ['1h', '99999999999999999h', draw.word()]),
        ),
      },
      status: maybe(chance, () => ({
        next: { from: draw.time(), to: draw.time() },
        conditions: [draw.condition('Valid')],
      })),
    },
  ],
  (chance, draw, index) => [
    `/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances/mm-${index % 4}`,
    {
      metadata: metadata(chance, draw, `mm-${index % 4}`, 'drydock-system'),
      spec: {
        maintenancescheduled: chance() < 0.2,
        eventcode: draw.word(),
        eventid: draw.word(),
        machineid: draw.word(),
        machinelink: pick(chance, ['n1', 'n2', draw.word()]),
        machineRef: maybe(chance, () => ({
          kind: pick(chance, ['Node', 'Machine']),
          name: pick(chance, ['n1', 'n2', draw.word()]),
          namespace: draw.word(),
        })),
        events: maybe(chance, () => many(chance, 3, () => event(chance, draw))),
        strategy: maybe(chance, () =>
          pick(chance, ['Drain', 'Replace', 'ReplaceWithSurge', 'Notify']),
        ),
        notBefore: maybe(chance, draw.time),
        deadline: maybe(chance, draw.time),
        keepSeconds: maybe(chance, draw.int),
        drain: maybe(chance, () => drain(chance, draw)),
      },
      status: maybe(chance, () => ({
        phase: pick(chance, ['Pending', 'Draining', 'Succeeded', 'Cancelled']),
        startTime: maybe(chance, draw.time),
        completionTime: draw.time(),
        strategy: pick(chance, ['Drain', 'Replace']),
        nodeName: draw.word(),
      })),
    },
  ],
  (chance, draw, index) => [
    `/apis/drydock.dev/v1alpha1/machineeventsources/s${index % 2}`,
    {
      metadata: metadata(chance, draw, `s${index % 2}`),
      spec: {
        presets: ['gke'],
        signals: many(chance, 2, () => ({
          kind: 'reboot',
          label: { key: pick(chance, label) },
          notBeforeAnnotation: pick(chance, label),
          notBeforeLabel: pick(chance, label),
        })),
        drain: maybe(chance, () => drain(chance, draw)),
      },
    },
  ],
  (chance, draw, index) => [
    `/apis/drydock.dev/v1alpha1/nodenotices/n${index % 4}`,
    {
      metadata: metadata(chance, draw, `n${index % 4}`),
      spec: {
        provider: 'aws',
        instance: draw.word(),
        observedTime: draw.time(),
        events: many(chance, 2, () => event(chance, draw)),
      },
    },
  ],
];

const makers: readonly Maker[] = [...ofNodes, ...ofPlans, ...ofPlatforms];

/** Some part of it replaced by something of another type, as no API server would store it. */
function spoiled(chance: Chance, value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null || chance() < 0.2) return pick(chance, odd);
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    const at = Math.floor(chance() * list.length);
    return list.map((item, index) => (index === at ? (spoiled(chance, item) ?? null) : item));
  }
  const keys = Object.keys(value).filter(key => key !== 'metadata' || chance() < 0.3);
  const key = pick(chance, keys);
  const object = value as JsonObject;
  return key === undefined ? object : { ...object, [key]: spoiled(chance, object[key]) };
}

/** One object, and where it is stored. `wrongTypes`: the share of them that has a wrong one. */
export function oddObject(
  chance: Chance,
  index: number,
  wrongTypes: number,
): readonly [path: string, object: JsonObject] {
  const [path, object] = pick(chance, makers)(chance, drawing(chance), index);
  if (chance() >= wrongTypes) return [path, object];
  const { metadata: own, ...rest } = object;
  return [path, { ...(spoiled(chance, rest) as JsonObject), metadata: own }];
}
