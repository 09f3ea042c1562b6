import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { EvictionOutcome } from '@drydock/core/drain';
import { type Blocker, needsHelp } from '@drydock/core/drain';
import type { MaintenanceState } from '@drydock/core/request';
import { parse } from 'yaml';
import type { Overview } from '../ports.ts';
import { metrics } from './metrics.ts';

const root = new URL('../../../../', import.meta.url);
function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}
const docs = read('docs/metrics.md');

/** One of everything, so that every label is seen. */
const everything: Overview = {
  maintenances: [{ kind: 'Maintenance', state: 'Draining', count: 1 }],
  heldNodes: 1,
  blockers: [{ reason: 'DisruptionBudget', count: 1 }],
  vms: [{ platform: 'KubeVirt', state: 'Migrating', count: 1 }],
  planPhases: [{ plan: 'kernel', phase: 'Running' }],
  planNodes: [{ plan: 'kernel', state: 'Done', count: 1 }],
  planDeadlines: [{ plan: 'kernel', isMissed: true }],
  evictionsUnderWay: 1,
  queueDepth: 1,
  unsynced: ['nodes'],
  withheld: [],
};

async function exported(): Promise<string> {
  const all = metrics(
    () => everything,
    () => true,
  );
  all.meter.evicted('evict', 'accepted', 0.2);
  all.meter.wrote('nodes', 'stored');
  all.meter.decided(0.0002);
  all.meter.panicked('Node');
  all.novaMeter.asked('live-migrate', 'accepted');
  all.monitoringMeter.queried('promql', 'answered');
  all.notificationMeter.notified('chat', 'sent');
  all.apiCall({ method: 'GET', path: '/api/v1/pods', status: 200, seconds: 0.03 });
  return all.text();
}

function typesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
}

/** The labels of a metric, but for the one that every histogram has. */
function labelsOf(name: string, text: string): readonly string[] {
  const [, labels = ''] =
    new RegExp(`^${name}(?:_count)?(?:\\{([^}]*)\\})? \\d`, 'm').exec(text) ?? [];
  return [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).sort();
}

test('the table of docs/metrics.md has every metric of Drydock, with its type and labels, and no other', async () => {
  const text = await exported();
  const own = [...typesIn(text)].filter(([name]) => name.startsWith('drydock_'));
  const real = own.map(([name, type]) => `${name} ${type} ${labelsOf(name, text).join()}`);
  const rows = [...docs.matchAll(/^\| `(drydock_\w+)` \| (\w+) \| (.*?) ?\|$/gm)];
  const told = rows.map(
    ([, name = '', type = '', labels = '']) =>
      `${name} ${type} ${[...labels.matchAll(/`(\w+)`/g)]
        .map(([, label = '']) => label)
        .sort()
        .join()}`,
  );
  assert.ok(real.length > 0);
  assert.deepEqual(told.sort(), real.sort());
});

test('each metric has a paragraph of its own', async () => {
  for (const [name] of typesIn(await exported()))
    if (name.startsWith('drydock_'))
      assert.match(docs, new RegExp(`^\\*\\*\`${name}\`\\*\\*: \\w`, 'm'));
});

/** Metric names that appear in an expression or text: nothing else is spelled like that. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/\b(?:drydock|process|nodejs)_[a-z0-9_]+/g));
}

test('alerts, dashboard and documentation speak of metrics that there are', async () => {
  const types = typesIn(await exported());
  const isReal = (name: string): boolean => {
    const base = name.replace(/_(?:bucket|count|sum)$/, '');
    return types.has(name) || (base !== name && types.get(base) === 'histogram');
  };
  for (const file of [
    'deploy/monitoring/rules.yaml',
    'deploy/monitoring/dashboard.json',
    'docs/metrics.md',
  ]) {
    const names = namesIn(read(file));
    assert.ok(names.size > 5, `${file} speaks of metrics`);
    // `process_*` and the like stand for all of them.
    const families = new Set(['process_', 'nodejs_', 'drydock_']);
    assert.deepEqual(
      [...names].filter(name => !families.has(name) && !isReal(name)),
      [],
      file,
    );
  }
});

type Rules = {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
};
const alerts = (parse(read('deploy/monitoring/rules.yaml')) as Rules).groups.flatMap(
  ({ rules }) => rules,
);

test('every alert is told of in docs/metrics.md, with what it asks about', () => {
  const told = new Set(docs.match(/\bDrydock[A-Z]\w+/g));
  // That nobody answers is seen by Prometheus, not by a metric of Drydock.
  assert.deepEqual(
    [...told].sort(),
    alerts
      .map(({ alert }) => alert)
      .filter(alert => alert !== 'DrydockAbsent')
      .sort(),
  );
});

test('labels that alerts ask for have values that there are', () => {
  const values = (label: string): ReadonlySet<string> =>
    new Set(
      alerts.flatMap(({ expr }) =>
        [...expr.matchAll(new RegExp(`\\b${label}=~?"([^"]+)"`, 'g'))].flatMap(([, all = '']) =>
          all.split('|'),
        ),
      ),
    );
  const known = new Set([...docs.matchAll(/`(\w+)`/g)].map(([, word = '']) => word));
  for (const label of ['reason', 'state', 'outcome', 'result']) {
    const asked = values(label);
    assert.ok(asked.size > 0, label);
    assert.deepEqual(
      [...asked].filter(value => !known.has(value)),
      [],
      label,
    );
  }
});

/** Lists that the compiler keeps complete. */
const causes: Readonly<Record<Blocker['reason'], true>> = {
  AdmissionDenied: true,
  AttachmentsUnknown: true,
  AwaitingCompletion: true,
  WorkOfPlan: true,
  BudgetNeverAllows: true,
  BudgetNotSynced: true,
  DaemonSet: true,
  DetachFailed: true,
  DisruptionBudget: true,
  EarlierWave: true,
  Evacuating: true,
  EvictionFailed: true,
  EvictionIgnored: true,
  EvictionRequested: true,
  EvictionResponder: true,
  EvictionResponderSilent: true,
  EvictionUnanswered: true,
  Forbidden: true,
  KeepsComing: true,
  LocalData: true,
  HypervisorUnknown: true,
  MigrationFailed: true,
  MigrationQueued: true,
  MultipleBudgets: true,
  NoMigrationTarget: true,
  NamespaceTerminating: true,
  NotMigratable: true,
  ServerMoving: true,
  ServerNotMovable: true,
  StuckTerminating: true,
  NodeNotReady: true,
  ReplacementUnschedulable: true,
  TooFewHealthy: true,
  Terminating: true,
  Throttled: true,
  Unmanaged: true,
  VirtualMachineStops: true,
  VolumeAttached: true,
};
const outcomes: Readonly<Record<EvictionOutcome['kind'], true>> = {
  accepted: true,
  budget: true,
  budgetBehind: true,
  conflict: true,
  denied: true,
  evacuating: true,
  failed: true,
  forbidden: true,
  gone: true,
  invalid: true,
  migrationTarget: true,
  multipleBudgets: true,
  namespaceTerminating: true,
  notMigratable: true,
  throttled: true,
  webhookFailed: true,
};
const states: Readonly<Record<MaintenanceState, true>> = {
  Announced: true,
  Cordoned: true,
  Detaching: true,
  Drained: true,
  Draining: true,
  Failed: true,
  Pending: true,
  Releasing: true,
};

test('every reason, outcome and state is told of', () => {
  const words = [causes, outcomes, states].flatMap(list => Object.keys(list));
  assert.deepEqual(
    words.filter(word => !docs.includes(`\`${word}\``)),
    [],
  );
});

test('somebody is called for the causes that do not end by waiting', () => {
  const { expr = '' } = alerts.find(({ alert }) => alert === 'DrydockDrainNeedsHelp') ?? {};
  const [, asked = ''] = /reason=~"([^"]+)"/.exec(expr) ?? [];
  const names = Object.keys(causes) as Blocker['reason'][];
  const helpless = names.filter(
    reason => needsHelp({ reason, message: '' }) && reason !== 'AwaitingCompletion',
  );
  assert.deepEqual(asked.split('|'), helpless.sort());
});

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
};
type Dashboard = {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};

test('the dashboard is whole: own ids, nothing on top of another, only variables that it has', () => {
  const { panels, templating } = JSON.parse(read('deploy/monitoring/dashboard.json')) as Dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length, 'panels overlap');
  assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
  const variables = new Set(templating.list.map(({ name }) => name));
  for (const { type, title, targets = [], datasource } of panels) {
    if (type === 'row') continue;
    assert.ok(targets.length > 0 && datasource?.uid === `\${datasource}`, title);
    const used = targets
      .flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name = '']) => name))
      .filter(name => !name.startsWith('__'));
    assert.deepEqual(
      used.filter(name => !variables.has(name)),
      [],
      title,
    );
  }
});
