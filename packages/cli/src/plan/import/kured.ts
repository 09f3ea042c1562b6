import { isObject, type Json, type JsonObject, parseSelector } from '@drydock/apimachinery';
import { planApi } from '@drydock/core/plan';
import { at, items, part, strings, text } from '@drydock/kube-sim';
import { UsageError } from '@drydock/utils';
import { type ImportedWindow, windowOf } from './times-of-day.ts';

/** Result of converting an object of another system. */
export type Imported = {
  /** A paused MaintenancePlan, and a MaintenanceWindow where there is one. */
  readonly objects: readonly JsonObject[];
  /** Settings that could not be converted, or need a review: a sentence each, with the field. */
  readonly left: readonly string[];
};

/**
 * Returns a plan that starts nothing until a user has compared the due nodes with the expected
 * ones.
 */
export function pausedPlan(name: string, spec: JsonObject): JsonObject {
  return {
    apiVersion: planApi,
    kind: 'MaintenancePlan',
    metadata: { name },
    spec: { state: 'Paused', ...spec },
  };
}

/**
 * Returns the whole seconds of a Go duration (`1h30m`), or of nanoseconds as Go writes them in
 * JSON; undefined for other values.
 */
export function secondsIn(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return Math.round(value / 1e9);
  if (typeof value !== 'string') return undefined;
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== value) return undefined;
  const units = { h: 3600, m: 60, s: 1 } as const;
  return Math.round(
    parts.reduce(
      (sum, [, amount = '0', unit = 's']) =>
        sum + Number(amount) * units[unit as keyof typeof units],
      0,
    ),
  );
}

/** Drain options that drain nothing: no pod has this label. */
export const drainNothing: JsonObject = {
  podSelector: { matchLabels: { 'drydock.dev/drained': 'none' } },
};

/**
 * Returns the selector of nodes. Throws where there is none: it selects nothing in the other
 * system, and a plan requires one.
 */
export function selectorOf(object: JsonObject): JsonObject {
  const selector = at(object, 'spec', 'nodeSelector');
  if (isObject(selector)) return selector;
  throw new UsageError(
    `${text(object, 'kind')} ${nameOf(object)} cannot be imported: it has no spec.nodeSelector, and selects no node`,
  );
}

/** Returns the objects among the items of a field. */
export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return items(value).filter(isObject);
}

export function nameOf(object: JsonObject): string {
  return text(object, 'metadata', 'name');
}

/**
 * Configuration of kured: flags of its command line, and variables KURED_* for those that are
 * absent.
 */
type KuredFlags = {
  readonly names: readonly string[];
  /** Returns the last value of a flag, as kured does; undefined where it is not given. */
  one(name: string): string | undefined;
  /** Returns all values of a repeatable flag, in their order. */
  all(name: string): readonly string[];
  /** Variables whose values are not in the DaemonSet. */
  readonly hidden: readonly string[];
};

/** Parses `--name=value` and `--name value`; a flag without a value is true. */
function onCommandLine(words: readonly string[]): readonly (readonly [string, string])[] {
  return words.flatMap((word, index) => {
    const [, name, inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) return [];
    const next = words[index + 1] ?? '';
    return [[name, inline ?? (next === '' || next.startsWith('-') ? 'true' : next)] as const];
  });
}

const prefix = 'KURED_';

function inEnvironment(container: JsonObject): readonly JsonObject[] {
  return objectsIn(container['env']).filter(variable => text(variable, 'name').startsWith(prefix));
}

function flagOf(variable: JsonObject): string {
  return text(variable, 'name').slice(prefix.length).toLowerCase().replaceAll('_', '-');
}

/** Reads the containers of kured. An empty variable counts as unset, as in kured. */
function kuredFlags(containers: readonly JsonObject[]): KuredFlags {
  const words = containers
    .flatMap(({ command, args }) => [...items(command), ...items(args)])
    .filter(word => typeof word === 'string');
  const given = onCommandLine(words);
  const typed = new Set(given.map(([name]) => name));
  const variables = containers
    .flatMap(inEnvironment)
    .filter(variable => !typed.has(flagOf(variable)));
  const set = variables.flatMap(variable =>
    text(variable, 'value') === '' ? [] : [[flagOf(variable), text(variable, 'value')] as const],
  );
  const all = [...given, ...set];
  return {
    names: [...new Set(all.map(([name]) => name))],
    one: name => all.findLast(([other]) => other === name)?.[1],
    all: name => all.flatMap(([other, value]) => (other === name ? [value] : [])),
    hidden: [
      ...new Set(
        variables
          .filter(variable => variable['valueFrom'] !== undefined)
          .map(variable => text(variable, 'name')),
      ),
    ],
  };
}

/** Converts the DaemonSet of kured, by docs/moving-to-plans.md: its flags become the plan. */

function isKuredContainer({ image, name }: JsonObject): boolean {
  return name === 'kured' || /(^|\/)kured([:@]|$)/.test(typeof image === 'string' ? image : '');
}

function containers(daemonSet: JsonObject): readonly JsonObject[] {
  return objectsIn(at(daemonSet, 'spec', 'template', 'spec', 'containers'));
}

/** Returns whether a DaemonSet runs kured. */
export function isKured(daemonSet: JsonObject): boolean {
  return containers(daemonSet).some(isKuredContainer);
}

/** Flags that are converted or need no counterpart; all others are reported. */
const carried = new Set([
  'concurrency',
  'drain-timeout',
  'lock-release-delay',
  'drain-grace-period',
  'drain-pod-selector',
  'skip-wait-for-delete-timeout',
  'reboot-days',
  'start-time',
  'end-time',
  'time-zone',
  'blocking-pod-selector',
  'reboot-method',
  'period',
  'ds-name',
  'ds-namespace',
  'lock-annotation',
  'annotate-nodes',
  'log-format',
  'metrics-host',
  'metrics-port',
  'node-id',
]);

const why: Readonly<Record<string, string>> = {
  'reboot-sentinel':
    'Drydock does not read files on nodes: let the node report it by the condition RebootRequired (docs/plan-recipes.md, reboots alone)',
  'reboot-sentinel-command':
    'Drydock runs no command to find out: let the node report it by the condition RebootRequired (docs/plan-recipes.md, reboots alone)',
  'reboot-command':
    'the plan reboots by systemd; for a command of your own use work.job with rebootsNode: true',
  'reboot-signal':
    'the plan sends SIGRTMIN+5, by which systemd reboots; for another signal use work.job with rebootsNode: true',
  'force-reboot': 'a node is never rebooted under pods that could not leave',
  'lock-ttl': 'a slot is freed by a verdict only',
  'drain-delay': 'a drain ends when the pods are gone and their volumes detached',
  'reboot-delay': 'a drain ends when the pods are gone and their volumes detached',
  'prefer-no-schedule-taint': 'pods may move to nodes that are due themselves',
  'prometheus-url':
    'add a gate of the kind alerts; the administrator of the operator sets the address (docs/plans.md, metrics and alerts)',
  'alert-filter-regexp': 'make a gate of the kind alerts with the matcher alertname!~"…"',
  'alert-filter-match-only': 'make a gate of the kind alerts with the matcher alertname=~"…"',
  'alert-firing-only': 'a gate of the kind alerts sees those that fire',
};

function notCarried(name: string): string {
  return (
    why[name] ??
    (/^(notify|slack|message)/.test(name)
      ? 'use --notification-config (docs/notifications.md)'
      : 'it has no counterpart')
  );
}

/** Returns an entry for each selector: the plan waits for every pod that one of them matches. */
function awaited(flags: KuredFlags): readonly Json[] {
  return flags.all('blocking-pod-selector').flatMap(selector => {
    const podSelector = selector === '' ? undefined : parseSelector(selector);
    return podSelector === undefined ? [] : [{ podSelector }];
  });
}

/** Parses a whole number of at least `least`; returns undefined for other text. */
function numberIn(value: string | undefined, least: number): number | undefined {
  const number = value === undefined || !/^\d+$/.test(value) ? Number.NaN : Number(value);
  return number >= least ? number : undefined;
}

function drainOf(flags: KuredFlags): JsonObject {
  const grace = numberIn(flags.one('drain-grace-period'), 0);
  const skip = numberIn(flags.one('skip-wait-for-delete-timeout'), 1);
  const selector = parseSelector(flags.one('drain-pod-selector') ?? '');
  const awaits = awaited(flags);
  return {
    force: true,
    deleteEmptyDirData: true,
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
    ...(skip !== undefined && { skipWaitForDeleteTimeoutSeconds: skip }),
    ...(selector && { podSelector: selector }),
    ...(awaits.length > 0 && { awaitPods: awaits }),
  };
}

/** Returns the values that cannot be parsed. */
function unreadable(flags: KuredFlags): readonly string[] {
  return [
    ...flags
      .all('blocking-pod-selector')
      .filter(selector => parseSelector(selector) === undefined)
      .map(
        selector =>
          `--blocking-pod-selector: "${selector}" cannot be read: write it into template.maintenance.drain.awaitPods`,
      ),
    ...[flags.one('drain-pod-selector') ?? '']
      .filter(selector => selector !== '' && parseSelector(selector) === undefined)
      .map(
        selector =>
          `--drain-pod-selector: "${selector}" cannot be read, and all pods are drained: write it into template.maintenance.drain.podSelector`,
      ),
    ...(['drain-timeout', 'lock-release-delay'] as const)
      .filter(flag => flags.one(flag) !== undefined && secondsIn(flags.one(flag)) === undefined)
      .map(flag => `--${flag}: it cannot be read as a duration`),
    ...flags.hidden
      .filter(name => name !== 'KURED_NODE_ID')
      .map(
        name =>
          `${name}: its value is not in the DaemonSet (valueFrom): look it up, and change the plan accordingly`,
      ),
  ];
}

const timeFlags = ['reboot-days', 'start-time', 'end-time'];

/** Returns the window; all days and the whole day by default. */
function windowFor(name: string, flags: KuredFlags): ImportedWindow | undefined {
  if (!timeFlags.some(flag => flags.names.includes(flag))) return undefined;
  const given = flags.names.includes('reboot-days')
    ? flags.all('reboot-days')
    : ['su,mo,tu,we,th,fr,sa'];
  const timeZone = flags.one('time-zone') ?? '';
  return windowOf(name, {
    days: given.flatMap(days => days.split(/[,\s]+/)).filter(day => day !== ''),
    start: flags.one('start-time') ?? '0:00',
    end: flags.one('end-time') ?? '23:59:59',
    timeZone: timeZone === 'Local' ? '' : timeZone,
  });
}

const controlPlaneKeys = [
  'node-role.kubernetes.io/control-plane',
  'node-role.kubernetes.io/master',
];

/**
 * Returns whether its pods tolerate the taint of the control plane: otherwise kured has no pod
 * there.
 */
function isOnControlPlane(daemonSet: JsonObject): boolean {
  return objectsIn(at(daemonSet, 'spec', 'template', 'spec', 'tolerations')).some(toleration => {
    const [key, effect] = [text(toleration, 'key'), text(toleration, 'effect')];
    return (
      (effect === '' || effect === 'NoSchedule') &&
      (controlPlaneKeys.includes(key) || (key === '' && toleration['operator'] === 'Exists'))
    );
  });
}

/** Default signal: SIGRTMIN+5. */
const defaultSignal = '39';

/** Number of retries for a node whose drain is stuck: kured retries without a limit. */
const oftenEnough = 100;

/**
 * Returns a MaintenancePlan with the built-in reboot, and a window where times are set, for the
 * DaemonSet of kured.
 */
export function importKured(daemonSet: JsonObject): Imported {
  const flags = kuredFlags(containers(daemonSet).filter(isKuredContainer));
  const name = nameOf(daemonSet);
  const [stuck, delay] = [
    secondsIn(flags.one('drain-timeout')),
    secondsIn(flags.one('lock-release-delay')),
  ];
  const window = windowFor(name, flags);
  const podSpec = part(daemonSet, 'spec', 'template', 'spec');
  const matchLabels = strings(podSpec['nodeSelector']);
  const plan = pausedPlan(name, {
    nodeSelector: Object.keys(matchLabels).length === 0 ? {} : { matchLabels },
    ...(!isOnControlPlane(daemonSet) && { controlPlane: 'Never' }),
    due: {
      expression:
        "node.status.conditions.exists(c, c.type == 'RebootRequired' && c.status == 'True')",
    },
    done: { withinSeconds: 900 },
    concurrency: { maxInFlight: numberIn(flags.one('concurrency'), 1) ?? 1 },
    template: { maintenance: { reason: 'reboot required', drain: drainOf(flags) } },
    work: { reboot: { timeoutSeconds: 1200 } },
    ...(delay !== undefined && delay > 0 && { soakAfterReleaseSeconds: delay }),
    ...(stuck !== undefined &&
      stuck > 0 && { onFailure: { drainStuck: { afterSeconds: stuck, times: oftenEnough } } }),
  });
  const isCarried = (flag: string): boolean =>
    carried.has(flag) || (flag === 'reboot-signal' && flags.one(flag) === defaultSignal);
  const others = flags.names
    .filter(flag => !isCarried(flag))
    .map(flag => `--${flag}: ${notCarried(flag)}`);
  const hasSentinel = ['reboot-sentinel', 'reboot-sentinel-command'].some(flag =>
    flags.names.includes(flag),
  );
  return {
    objects: window === undefined ? [plan] : [plan, window.window],
    left: [
      ...(hasSentinel ? [] : [`--reboot-sentinel: ${why['reboot-sentinel'] ?? ''}`]),
      ...(window?.left === undefined
        ? []
        : [`--reboot-days, --start-time, --end-time: ${window.left}`]),
      ...unreadable(flags),
      ...(at(podSpec, 'affinity', 'nodeAffinity') === undefined
        ? []
        : ['spec.template.spec.affinity: it chooses nodes; write them into nodeSelector']),
      ...others,
      'a run takes each node once, and kured runs forever: drydock plan rerun begins the next run',
    ],
  };
}
