import { isObject, type JsonObject } from '../../../core/json.ts';
import { planApi } from '../../../core/plan/plan.ts';
import { at, part, text } from '../../../embedded/object.ts';
import { UsageError } from '../../shared/fail.ts';
import { drainNothing, type Imported, nameOf, objectsIn, pausedPlan, secondsIn } from './imported.ts';

/** TalosUpgrades of tuppr (tuppr.home-operations.com/v1alpha1), as docs/moving-to-plans.md has it. The upgrade itself stays with whoever runs talosctl: only the node's own machine configuration says which installer it needs. */

/** What tuppr itself accepts. It goes into expressions. */
const versionPattern = /^v\d+\.\d+\.\d+(-[a-zA-Z0-9.-]+)?$/;

const versionOf = (upgrade: JsonObject): string => {
  const version = text(upgrade, 'spec', 'talos', 'version');
  if (versionPattern.test(version)) return version;
  throw new UsageError(`TalosUpgrade ${nameOf(upgrade)} cannot be imported: its spec.talos.version is no version like v1.13.8`);
};

const drainOf = (upgrade: JsonObject): JsonObject => {
  if (at(upgrade, 'spec', 'policy', 'nodrain') === true) return drainNothing;
  const isDeleting = at(upgrade, 'spec', 'drain', 'disableEviction') === true;
  return { deleteEmptyDirData: true, ...(isDeleting && { disableEviction: true }) };
};

const hookOf = (hook: JsonObject, place: 'BeforeRun' | 'AfterRun'): JsonObject => {
  const { name, image, imagePullPolicy, command, args, env, envFrom, volumeMounts, volumes, serviceAccountName } = hook;
  const given = Object.entries({ imagePullPolicy, command, args, env, envFrom, volumeMounts });
  const container = Object.fromEntries([['name', 'hook'], ['image', image], ...given].filter(([, value]) => value !== undefined));
  const seconds = Number(hook['activeDeadlineSeconds'] ?? 600);
  return {
    name: name ?? '',
    at: place,
    job: {
      podSpec: {
        ...(serviceAccountName !== undefined && { serviceAccountName }),
        containers: [container as JsonObject],
        ...(volumes !== undefined && { volumes }),
      },
      ...(seconds > 0 && { timeoutSeconds: seconds }),
    },
    ...(place === 'AfterRun' && { onFailure: 'Continue' }),
  };
};

const hooksOf = (upgrade: JsonObject): readonly JsonObject[] => [
  ...objectsIn(at(upgrade, 'spec', 'hooks', 'pre')).map(hook => hookOf(hook, 'BeforeRun')),
  ...objectsIn(at(upgrade, 'spec', 'hooks', 'post')).map(hook => hookOf(hook, 'AfterRun')),
];

/** One for each time zone: any opening of any of them is one, there as here. */
const windowsOf = (upgrade: JsonObject): readonly JsonObject[] => {
  const zones = Map.groupBy(objectsIn(at(upgrade, 'spec', 'maintenance', 'windows')), window => text(window, 'timezone') || 'UTC');
  return [...zones].map(([timeZone, windows], index) => ({
    apiVersion: planApi,
    kind: 'MaintenanceWindow',
    metadata: { name: index === 0 ? nameOf(upgrade) : `${nameOf(upgrade)}-${index + 1}` },
    spec: {
      kinds: ['MaintenancePlan'],
      timeZone,
      openings: windows.map(window => ({ cron: text(window, 'start'), duration: text(window, 'duration') })),
    },
  }));
};

const checkText = (check: JsonObject): string =>
  [text(check, 'kind'), [text(check, 'namespace'), text(check, 'name')].filter(Boolean).join('/')].filter(Boolean).join(' ');

/** Fields that have no counterpart, each with what to do instead. */
const unlike: readonly (readonly [field: string, words: string])[] = [
  ['force', 'the plan keeps the quorum of etcd in any case'],
  ['stage', 'give it to talosctl; the node restarts twice, and work.external.finished waits for the second time'],
  ['rebootMode', 'give it to talosctl'],
  ['placement', 'not needed: no pod of the plan works on the node'],
  ['priorityClassName', 'not needed: no pod of the plan works on the node'],
];

const leftOf = (upgrade: JsonObject, version: string): readonly string[] => {
  const { healthChecks, silences, talosctl } = part(upgrade, 'spec');
  const policy = part(upgrade, 'spec', 'policy');
  const hooks = hooksOf(upgrade);
  const isPulled = at(upgrade, 'spec', 'talos', 'prePull') !== false;
  return [
    `spec.talos: somebody runs talosctl upgrade to ${version} on each node that is Drained, with the installer of the node's own machine configuration (docs/plan-recipes.md); the plan sees by the node that it is done`,
    ...(isPulled ? ['spec.talos.prePull: pull the installer before that, with talosctl image pull; the plan pulls nothing'] : []),
    ...objectsIn(healthChecks).map(
      check =>
        `spec.healthChecks, ${checkText(check)}: make a gate of it (docs/plans.md); an object is one by its resource, workloads by their budgets`,
    ),
    ...unlike.flatMap(([field, words]) => (policy[field] === undefined ? [] : [`spec.policy.${field}: ${words}`])),
    ...(talosctl === undefined ? [] : ['spec.talosctl: whoever runs talosctl chooses its version']),
    ...(hooks.length === 0
      ? []
      : ['spec.hooks: copy the Secrets, ConfigMaps and service accounts that they name to the namespace drydock-plans']),
    ...(silences === undefined
      ? []
      : ['spec.silences: the operator silences alerts of nodes that it holds (docs/notifications.md); the matchers go to its own file']),
    'annotations tuppr.home-operations.com/version of nodes: a plan has one version; exclude such nodes by nodeSelector, or give them a plan of their own',
  ];
};

/** A MaintenancePlan, and windows where it has some, of a TalosUpgrade. Throws a UsageError for one without a version. */
export const importTalosUpgrade = (upgrade: JsonObject): Imported => {
  const { nodeSelector, parallelism = 1 } = part(upgrade, 'spec');
  const version = versionOf(upgrade);
  const [system, name, hooks] = [`Talos (${version})`, nameOf(upgrade), hooksOf(upgrade)];
  const plan = pausedPlan(name, {
    nodeSelector: isObject(nodeSelector) ? nodeSelector : {},
    due: { expression: `node.status.nodeInfo.osImage != '${system}'` },
    done: { rebooted: 'Required' },
    concurrency: { maxInFlight: parallelism, maxUnavailable: parallelism },
    ...(hooks.length > 0 && { hooks }),
    halt: { consecutive: 1 },
    template: { maintenance: { reason: `Talos ${version.slice(1)}`, drain: drainOf(upgrade) } },
    work: {
      external: {
        annotations: { 'tuppr.home-operations.com/version': version },
        finished: { expression: `node.status.nodeInfo.osImage == '${system}'` },
        timeoutSeconds: secondsIn(at(upgrade, 'spec', 'policy', 'timeout')) ?? 1800,
      },
    },
  });
  return { objects: [plan, ...windowsOf(upgrade)], left: leftOf(upgrade, version) };
};
