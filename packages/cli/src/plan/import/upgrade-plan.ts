import type { JsonObject } from '@drydock/apimachinery';
import { at, part, text } from '@drydock/kube-sim';
import {
  drainNothing,
  type Imported,
  nameOf,
  objectsIn,
  pausedPlan,
  secondsIn,
  selectorOf,
} from './kured.ts';
import { type ImportedWindow, windowOf } from './times-of-day.ts';

/**
 * Converts Plans of system-upgrade-controller (upgrade.cattle.io/v1), by docs/moving-to-plans.md.
 */

const upgradeName = 'upgrade';

/** Mount path of the node's root in a pod of such a plan. */
const host = '/host';

function labelOf(name: string): string {
  return `plan.upgrade.cattle.io/${name}`;
}

/** Returns whether the plan selects by the label that the controller sets on finished nodes. */
function selectsByLabel(plan: JsonObject): boolean {
  return JSON.stringify(part(plan, 'spec', 'nodeSelector')).includes(`"${labelOf(nameOf(plan))}"`);
}

/** Returns the image with the version as tag where it has none. */
function imageOf(image: string, version: string): string {
  const last = image.split('/').at(-1) ?? '';
  return version === '' || last.includes(':') || image.includes('@')
    ? image
    : `${image}:${version.replaceAll('+', '-')}`;
}

function secretsOf(plan: JsonObject): readonly JsonObject[] {
  return objectsIn(at(plan, 'spec', 'secrets'));
}

function secretOf(secret: JsonObject): JsonObject {
  const { defaultMode } = secret;
  return { secretName: text(secret, 'name'), ...(defaultMode !== undefined && { defaultMode }) };
}

/** Returns the container; privileged by default, if it is the upgrade's. */
function containerOf(plan: JsonObject, given: JsonObject, name: string): JsonObject {
  const version = text(plan, 'spec', 'version');
  const { image: _image, envs, envFrom, command, args, securityContext, volumes } = given;
  const mounts = [
    { name: 'host', mountPath: host },
    ...secretsOf(plan).map(secret => ({
      name: text(secret, 'name'),
      mountPath: text(secret, 'path'),
      readOnly: true,
    })),
    ...objectsIn(volumes).map(volume => ({
      name: text(volume, 'name'),
      mountPath: text(volume, 'destination'),
    })),
  ];
  const env = [
    { name: 'SYSTEM_UPGRADE_NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'SYSTEM_UPGRADE_PLAN_NAME', value: nameOf(plan) },
    ...(version === '' ? [] : [{ name: 'SYSTEM_UPGRADE_PLAN_LATEST_VERSION', value: version }]),
    ...objectsIn(envs),
  ];
  return {
    name,
    image: imageOf(text(given, 'image'), version),
    ...(command !== undefined && { command }),
    ...(args !== undefined && { args }),
    env,
    ...(envFrom !== undefined && { envFrom }),
    ...(securityContext === undefined && name !== upgradeName
      ? {}
      : { securityContext: securityContext ?? { privileged: true } }),
    volumeMounts: mounts,
  };
}

function podSpecOf(plan: JsonObject, given: JsonObject, name: string): JsonObject {
  const { serviceAccountName, imagePullSecrets, priorityClassName } = part(plan, 'spec');
  const volumes = [
    { name: 'host', hostPath: { path: '/' } },
    ...secretsOf(plan).map(secret => ({ name: text(secret, 'name'), secret: secretOf(secret) })),
    ...objectsIn(given['volumes']).map(volume => ({
      name: text(volume, 'name'),
      hostPath: { path: text(volume, 'source') },
    })),
  ];
  return {
    hostPID: true,
    hostIPC: true,
    hostNetwork: true,
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    ...(imagePullSecrets !== undefined && { imagePullSecrets }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    containers: [containerOf(plan, given, name)],
    volumes,
  };
}

function drainOf(plan: JsonObject): JsonObject {
  const spec = part(plan, 'spec');
  if (spec['drain'] === undefined) return drainNothing;
  const given = part(plan, 'spec', 'drain');
  const {
    podSelector,
    force,
    disableEviction,
    ignoreDaemonSets,
    gracePeriod,
    deleteEmptydirData,
    deleteLocalData,
  } = given;
  const [timeout, skip] = [secondsIn(given['timeout']), given['skipWaitForDeleteTimeout']];
  return {
    deleteEmptyDirData: deleteEmptydirData ?? deleteLocalData ?? true,
    ...(force !== undefined && { force }),
    ...(disableEviction !== undefined && { disableEviction }),
    ...(ignoreDaemonSets !== undefined && { ignoreDaemonSets }),
    ...(podSelector !== undefined && { podSelector }),
    ...(gracePeriod !== undefined && { gracePeriodSeconds: gracePeriod }),
    ...(timeout !== undefined && timeout > 0 && { timeoutSeconds: timeout }),
    ...(skip !== undefined && { skipWaitForDeleteTimeoutSeconds: skip }),
  };
}

function windowFor(plan: JsonObject): ImportedWindow | undefined {
  if (part(plan, 'spec')['window'] === undefined) return undefined;
  const days = at(plan, 'spec', 'window', 'days');
  return windowOf(nameOf(plan), {
    days: Array.isArray(days) ? days.map(String) : [],
    start: text(plan, 'spec', 'window', 'startTime'),
    end: text(plan, 'spec', 'window', 'endTime'),
    timeZone: text(plan, 'spec', 'window', 'timeZone'),
  });
}

/** Fields that are converted, reported by their own sentence, or done by every plan. */
const known: Readonly<Record<string, string>> = {
  spec: 'channel concurrency cordon drain exclusive imagePullSecrets jobActiveDeadlineSecs nodeSelector postCompleteDelay postCompleteLabels prepare priorityClassName secrets serviceAccountName tolerations upgrade version window',
  'spec.drain':
    'deleteEmptydirData deleteLocalData disableEviction force gracePeriod ignoreDaemonSets podSelector skipWaitForDeleteTimeout timeout',
  'spec.upgrade': 'args command envFrom envs image securityContext volumes',
  'spec.prepare': 'args command envFrom envs image securityContext volumes',
};

function unknownOf(plan: JsonObject): readonly string[] {
  return Object.entries(known).flatMap(([path, fields]) =>
    Object.keys(part(plan, ...path.split('.')))
      .filter(field => !fields.split(' ').includes(field))
      .map(field => `${path}.${field}: it has no counterpart`),
  );
}

function leftOf(plan: JsonObject, window: ImportedWindow | undefined): readonly string[] {
  const spec = part(plan, 'spec');
  const {
    version,
    channel,
    drain,
    cordon,
    postCompleteLabels,
    secrets,
    serviceAccountName,
    imagePullSecrets,
  } = spec;
  const isWithVersion = version !== undefined || channel !== undefined;
  const accounts = [
    serviceAccountName !== undefined && 'serviceAccountName',
    imagePullSecrets !== undefined && 'imagePullSecrets',
    secrets !== undefined && 'secrets',
  ];
  const named = accounts.filter(one => one !== false);
  return [
    `spec.${isWithVersion ? 'version' : 'upgrade'}: select the nodes that do not have it yet with due.expression; without it, each run takes every node once`,
    'spec.upgrade: where the work reboots its node, set work.job.rebootsNode: true; then only another boot ID proves that it is done',
    ...(selectsByLabel(plan)
      ? [
          `spec.nodeSelector: it goes by the label ${labelOf(nameOf(plan))}: choose another one before you take that label from the nodes`,
        ]
      : []),
    ...(channel === undefined
      ? []
      : [
          'spec.channel: a plan queries no server; write the version, and change it when there is another one',
        ]),
    ...(named.length === 0
      ? []
      : [`spec.${named.join(', spec.')}: copy what they name to the namespace drydock-plans`]),
    ...(drain === undefined && cordon !== true
      ? [
          'spec.drain, spec.cordon: there are none, and a node of a MaintenancePlan is always cordoned; pods are left where they are',
        ]
      : []),
    ...(window?.left === undefined ? [] : [`spec.window: ${window.left}`]),
    ...(postCompleteLabels === undefined
      ? []
      : [
          'spec.postCompleteLabels: a plan writes nothing on nodes but the hold; let the job do it',
        ]),
    ...unknownOf(plan),
  ];
}

/** Returns a MaintenancePlan, and a window where set, for a Plan of system-upgrade-controller. */
export function importUpgradePlan(plan: JsonObject): Imported {
  const spec = part(plan, 'spec');
  const { concurrency, prepare } = spec;
  const window = windowFor(plan);
  const delay = secondsIn(spec['postCompleteDelay']);
  const object = pausedPlan(nameOf(plan), {
    nodeSelector: selectorOf(plan),
    ...(concurrency !== undefined && { concurrency: { maxInFlight: concurrency } }),
    template: { maintenance: { reason: `upgrade ${nameOf(plan)}`, drain: drainOf(plan) } },
    ...(prepare !== undefined && {
      prepare: { job: { podSpec: podSpecOf(plan, part(plan, 'spec', 'prepare'), 'prepare') } },
    }),
    work: {
      job: {
        podSpec: podSpecOf(plan, part(plan, 'spec', 'upgrade'), upgradeName),
        timeoutSeconds: Number(spec['jobActiveDeadlineSecs'] ?? 900) || 900,
      },
    },
    ...(delay !== undefined && { soakAfterReleaseSeconds: delay }),
  });
  return {
    objects: window === undefined ? [object] : [object, window.window],
    left: leftOf(plan, window),
  };
}

/**
 * Converts MachineConfigPools of OpenShift, by docs/moving-to-plans.md: the same nodes, in the same
 * order, with the same concurrency. The contents of their disks stay with the
 * machine-config-operator.
 */

/** Returns the gate that starts no node while the pool is being updated. */
function gateOf(name: string): JsonObject {
  return {
    name: 'pool',
    at: ['BeforeNode'],
    object: {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      resource: 'machineconfigpools',
      name,
      expression:
        'object.spec.?paused.orValue(false) || object.spec.configuration.name == object.status.configuration.name',
    },
    forSeconds: 60,
  };
}

/** Returns a MaintenancePlan that reboots the nodes of a pool. */
export function importPool(pool: JsonObject): Imported {
  const { maxUnavailable = 1, pinnedImageSets } = part(pool, 'spec');
  const name = nameOf(pool);
  const plan = pausedPlan(`reboot-${name}`, {
    nodeSelector: selectorOf(pool),
    ...(name !== 'master' && { controlPlane: 'Never' }),
    concurrency: { maxInFlight: maxUnavailable, maxUnavailable },
    order: { by: ['Zone', 'Age'] },
    gates: [gateOf(name)],
    template: {
      maintenance: { reason: `pool ${name}`, drain: { force: true, deleteEmptyDirData: true } },
    },
    work: { reboot: { timeoutSeconds: 1800 } },
  });
  return {
    objects: [plan],
    left: [
      'spec.machineConfigSelector, spec.configuration: what is on the disk stays with the machine-config-operator; the plan reboots, and other work goes to work.job',
      `gates: give the operator the right to get, list and watch machineconfigpools ${name} (docs/moving-to-plans.md)`,
      ...(pinnedImageSets === undefined
        ? []
        : ['spec.pinnedImageSets: pull images with prepare.job']),
    ],
  };
}
