import type { Json, JsonObject } from '../../../core/json.ts';
import { parseSelector } from '../../../core/pod/parse-selector.ts';
import { at, items, part, strings } from '../../../embedded/object.ts';
import { type Imported, nameOf, objectsIn, pausedPlan, secondsIn, windowOf } from './imported.ts';

/** The DaemonSet of kured, as docs/moving-to-plans.md has it: its flags are the plan. */

type Flags = ReadonlyMap<string, string>;

const isKuredContainer = ({ image, name }: JsonObject): boolean =>
  name === 'kured' || /(^|\/)kured([:@]|$)/.test(typeof image === 'string' ? image : '');

const containers = (daemonSet: JsonObject): readonly JsonObject[] => objectsIn(at(daemonSet, 'spec', 'template', 'spec', 'containers'));

/** Whether a DaemonSet runs kured. */
export const isKured = (daemonSet: JsonObject): boolean => containers(daemonSet).some(isKuredContainer);

const wordsOf = (container: JsonObject): readonly string[] =>
  [...items(container['command']), ...items(container['args'])].filter(word => typeof word === 'string');

/** `--name=value` and `--name value`; a flag without a value is true. Given more than once, values are joined by commas. */
const flagsIn = (words: readonly string[]): Flags => {
  const flags = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const found = /^--([a-z-]+)(?:=(.*))?$/.exec(word);
    if (found === null) continue;
    const next = words[index + 1] ?? '';
    const [, name = '', inline] = found;
    const value = inline ?? (next === '' || next.startsWith('-') ? 'true' : next);
    flags.set(name, flags.has(name) ? `${flags.get(name) ?? ''},${value}` : value);
  }
  return flags;
};

/** What became of each flag that is carried over or needs no counterpart; all others are named. */
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
  'reboot-signal',
  'period',
  'ds-name',
  'ds-namespace',
  'lock-annotation',
  'annotate-nodes',
  'log-format',
  'metrics-host',
  'metrics-port',
]);

const why: Readonly<Record<string, string>> = {
  'reboot-sentinel':
    'Drydock does not read files on nodes: let the node report it by the condition RebootRequired (docs/plan-recipes.md, reboots alone)',
  'reboot-sentinel-command':
    'Drydock runs no command to find out: let the node report it by the condition RebootRequired (docs/plan-recipes.md, reboots alone)',
  'reboot-command': 'the plan reboots by systemd; for a command of your own use work.job with rebootsNode: true',
  'force-reboot': 'a node is never rebooted under pods that could not leave',
  'lock-ttl': 'a slot is freed by a verdict only',
  'drain-delay': 'a drain ends when the pods are gone and their volumes detached',
  'reboot-delay': 'a drain ends when the pods are gone and their volumes detached',
  'prefer-no-schedule-taint': 'pods may move to nodes that are due themselves',
  'prometheus-url': 'add a gate of the kind alerts; the administrator of the operator sets the address (docs/plans.md, metrics and alerts)',
  'alert-filter-regexp': 'make a gate of the kind alerts with the matcher alertname!~"…"',
  'alert-filter-match-only': 'make a gate of the kind alerts with the matcher alertname=~"…"',
  'alert-firing-only': 'a gate of the kind alerts sees those that fire',
};

const notCarried = (name: string): string =>
  why[name] ?? (/^(notify|slack|message)/.test(name) ? 'use --notification-config (docs/notifications.md)' : 'it has no counterpart');

const awaited = (flags: Flags): readonly Json[] =>
  [flags.get('blocking-pod-selector') ?? '']
    .filter(one => one !== '')
    .flatMap(text => {
      const selector = parseSelector(text);
      return selector === undefined ? [] : [{ podSelector: selector }];
    });

const drainOf = (flags: Flags): JsonObject => {
  const [grace, skip, pods] = [flags.get('drain-grace-period'), flags.get('skip-wait-for-delete-timeout'), flags.get('drain-pod-selector')];
  const selector = pods === undefined ? undefined : parseSelector(pods);
  const awaits = awaited(flags);
  return {
    force: true,
    deleteEmptyDirData: true,
    ...(grace !== undefined && Number(grace) > 0 && { gracePeriodSeconds: Number(grace) }),
    ...(skip !== undefined && Number(skip) > 0 && { skipWaitForDeleteTimeoutSeconds: Number(skip) }),
    ...(selector && { podSelector: selector }),
    ...(awaits.length > 0 && { awaitPods: awaits }),
  };
};

/** kured's times are of every day and the whole day where nothing is said. */
const windowFor = (name: string, flags: Flags): JsonObject | 'none' | undefined => {
  if (!['reboot-days', 'start-time', 'end-time'].some(flag => flags.has(flag))) return 'none';
  const days = (flags.get('reboot-days') ?? '').split(/[,\s]+/).filter(day => day !== '');
  const [start, end, timeZone] = ['start-time', 'end-time', 'time-zone'].map(flag => flags.get(flag) ?? '');
  return windowOf(name, { days, start: start ?? '', end: end ?? '', timeZone: timeZone === 'Local' ? '' : (timeZone ?? '') });
};

/** How often a node whose drain is stuck comes again: kured tries without an end. */
const oftenEnough = 100;

/** A MaintenancePlan with the built-in reboot, and a window where it has times, of the DaemonSet of kured. */
export const importKured = (daemonSet: JsonObject): Imported => {
  const flags = flagsIn(containers(daemonSet).filter(isKuredContainer).flatMap(wordsOf));
  const name = nameOf(daemonSet);
  const concurrency = Number(flags.get('concurrency') ?? 1) || 1;
  const [stuck, delay] = [secondsIn(flags.get('drain-timeout')), secondsIn(flags.get('lock-release-delay'))];
  const window = windowFor(name, flags);
  const matchLabels = strings(part(daemonSet, 'spec', 'template', 'spec')['nodeSelector']);
  const plan = pausedPlan(name, {
    nodeSelector: Object.keys(matchLabels).length === 0 ? {} : { matchLabels },
    due: { expression: "node.status.conditions.exists(c, c.type == 'RebootRequired' && c.status == 'True')" },
    done: { withinSeconds: 900 },
    concurrency: { maxInFlight: concurrency },
    template: { maintenance: { reason: 'reboot required', drain: drainOf(flags) } },
    work: { reboot: { timeoutSeconds: 1200 } },
    ...(delay !== undefined && delay > 0 && { soakAfterReleaseSeconds: delay }),
    ...(stuck !== undefined && stuck > 0 && { onFailure: { drainStuck: { afterSeconds: stuck, times: oftenEnough } } }),
  });
  const others = [...flags.keys()].filter(flag => !carried.has(flag)).map(flag => `--${flag}: ${notCarried(flag)}`);
  return {
    objects: window === undefined || window === 'none' ? [plan] : [plan, window],
    left: [
      ...(flags.has('reboot-sentinel') || flags.has('reboot-sentinel-command')
        ? []
        : [`--reboot-sentinel: ${why['reboot-sentinel'] ?? ''}`]),
      ...(window === undefined ? ['--start-time, --end-time, --reboot-days: they could not be read; make a MaintenanceWindow'] : []),
      ...others,
      'a run takes each node once, and kured runs forever: drydock plan rerun begins the next run',
    ],
  };
};
