import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '@drydock/utils';
import { exitCodeOf } from '../shared/fail.ts';
import { type OperatorFlags, type OperatorSettings, operatorSettings } from './operator-flags.ts';

const plain: OperatorFlags = {
  metricsSecure: false,
  metricsBindAddress: ':8080',
  healthProbeBindAddress: ':8081',
  leaderElect: false,
  nodeLeaseDurationSeconds: '3600',
  evictionRequests: 'Never',
  machinesPerSet: '1',
  machinesPerZone: '0',
  nodesUnavailable: '1',
  openstackMigrationsPerHost: '8',
  openstackMigrations: '32',
  drainLeadSeconds: '1800',
  machineMaintenanceWatchNamespaces: [],
  allowedAwsEndpoint: [],
};

function settings(
  over: Partial<OperatorFlags> = {},
  env: Readonly<Record<string, string>> = {},
  terminal = false,
): OperatorSettings {
  return operatorSettings({ ...plain, ...over }, env, terminal);
}

test('without flags: the addresses, lease terms and namespace of the operator that is replaced', () => {
  assert.deepEqual(settings(), {
    metrics: { address: { host: undefined, port: 8080 }, secure: false, certDir: undefined },
    healthAddress: { host: undefined, port: 8081 },
    dashboardAddress: undefined,
    leaderElect: false,
    leaderNamespace: undefined,
    leaseNamespace: 'medik8s-leases',
    operatorNamespace: 'node-maintenance',
    ownPod: undefined,
    podUid: undefined,
    ownNode: undefined,
    leaseSeconds: 3600,
    evictionRequests: 'Never',
    machineNamespace: undefined,
    machines: {
      awsEndpoints: [],
      watchNamespaces: [],
      limits: { perSet: 1, perZone: 0, nodes: 1 },
      region: undefined,
      drainLeadSeconds: 1800,
    },
    logFormat: 'json',
    logLevel: 'info',
    eventIntake: undefined,
    openStack: undefined,
    monitoringConfig: undefined,
    notificationConfig: undefined,
    webhook: undefined,
  });
});

test('the lease namespace comes from the environment; an empty one is none', () => {
  assert.equal(settings({}, { LEASE_NAMESPACE: 'mine' }).leaseNamespace, 'mine');
  assert.equal(settings({}, { LEASE_NAMESPACE: '' }).leaseNamespace, 'medik8s-leases');
  assert.equal(settings({}, { OPERATOR_NAMESPACE: 'kube-ops' }).operatorNamespace, 'kube-ops');
});

test('a pod knows its own name from its manifest', () => {
  assert.equal(
    settings({}, { POD_NAMESPACE: 'drydock-system', POD_NAME: 'drydock-1' }).ownPod,
    'drydock-system/drydock-1',
  );
  assert.equal(settings({}, { POD_NAMESPACE: 'drydock-system' }).ownPod, undefined);
});

test('0 or nothing switches an address off', () => {
  assert.equal(settings({ metricsBindAddress: '0' }).metrics.address, undefined);
  assert.equal(settings({ healthProbeBindAddress: '' }).healthAddress, undefined);
  assert.deepEqual(settings({ metricsBindAddress: '127.0.0.1:9' }).metrics.address, {
    host: '127.0.0.1',
    port: 9,
  });
});

test('the dashboard is off unless asked for, and then on this machine alone', () => {
  const dashboard = (dashboardBindAddress: string): unknown =>
    settings({ dashboardBindAddress }).dashboardAddress;
  assert.deepEqual([dashboard('0'), dashboard('')], [undefined, undefined]);
  assert.deepEqual(dashboard('127.0.0.1:8721'), { host: '127.0.0.1', port: 8721 });
  assert.deepEqual(dashboard('[::1]:8721'), { host: '::1', port: 8721 });
  for (const address of [
    ':8721',
    '0.0.0.0:8721',
    '[::]:8721',
    '10.0.0.1:8721',
    '127.evil.example:8721',
    'localhost.example:1',
  ]) {
    assert.throws(
      () => dashboard(address),
      { name: 'UsageError', message: /--dashboard-bind-address.*loopback addresses only/ },
      address,
    );
  }
});

test("booleans are spelled in any of Go's ways", () => {
  for (const value of [true, 'true', 't', '1', 'True', 'TRUE', 'T'])
    assert.equal(settings({ leaderElect: value }).leaderElect, true);
  for (const value of [false, 'false', 'f', '0', 'False', 'FALSE', 'F'])
    assert.equal(settings({ leaderElect: value }).leaderElect, false);
});

test("levels are zap's names or numbers", () => {
  const level = (zapLogLevel: string): string => settings({ zapLogLevel }).logLevel;
  assert.deepEqual(['debug', 'info', 'warn', 'error', 'panic', '0', '1', '10'].map(level), [
    'debug',
    'info',
    'warn',
    'error',
    'error',
    'info',
    'debug',
    'debug',
  ]);
});

test('lines are text on a terminal and JSON elsewhere, unless told otherwise; the own flag goes before the inherited one', () => {
  assert.equal(settings({}, {}, true).logFormat, 'text');
  assert.equal(settings({ zapEncoder: 'console' }).logFormat, 'text');
  assert.equal(settings({ zapEncoder: 'json' }, {}, true).logFormat, 'json');
  assert.equal(settings({ zapEncoder: 'console', logFormat: 'json' }, {}, true).logFormat, 'json');
});

const wrong: readonly (readonly [string, Partial<OperatorFlags>])[] = [
  ['--metrics-bind-address', { metricsBindAddress: '8080' }],
  ['--metrics-bind-address', { metricsBindAddress: ':99999' }],
  ['--health-probe-bind-address', { healthProbeBindAddress: 'localhost' }],
  ['--leader-elect', { leaderElect: 'maybe' }],
  ['--leader-elect', { leaderElect: '' }],
  ['--zap-log-level', { zapLogLevel: 'loud' }],
  ['--zap-log-level', { zapLogLevel: '-1' }],
  ['--node-lease-duration-seconds', { nodeLeaseDurationSeconds: '3' }],
  ['--node-lease-duration-seconds', { nodeLeaseDurationSeconds: '10.5' }],
  ['--node-lease-duration-seconds', { nodeLeaseDurationSeconds: 'soon' }],
  ['--machines-per-set', { machinesPerSet: '-1' }],
  ['--event-intake-bind-address', { eventIntakeBindAddress: 'nowhere' }],
  ['--machines-per-zone', { machinesPerZone: 'all' }],
  ['--nodes-unavailable', { nodesUnavailable: 'all' }],
  ['--nodes-unavailable', { nodesUnavailable: '0%' }],
  ['--nodes-unavailable', { nodesUnavailable: '-1' }],
  ['--nodes-unavailable', { nodesUnavailable: '' }],
  ['--drain-lead-seconds', { drainLeadSeconds: '' }],
];

for (const [flag, flags] of wrong) {
  const [value] = Object.values(flags);
  test(`${flag} "${String(value)}" is refused in one line that names flag and value, and says what it takes`, () => {
    assert.throws(
      () => settings(flags),
      (error: unknown) => {
        assert.ok(error instanceof UsageError);
        assert.ok(
          error.message.startsWith(`invalid value "${String(value)}" for ${flag}: expected `),
          error.message,
        );
        assert.doesNotMatch(error.message, /\n/);
        assert.equal(exitCodeOf(error), 2);
        return true;
      },
    );
  });
}

test('exit codes: 2 for what the caller has to mend, 1 for everything else', () => {
  const kubeconfig = Object.assign(new Error('no cluster'), { name: 'KubeconfigError' });
  assert.deepEqual(
    [exitCodeOf(kubeconfig), exitCodeOf(new Error('x')), exitCodeOf('x')],
    [2, 1, 1],
  );
});

test('OpenStack is asked only when a flag says so, and what is wrong with its configuration is said at the start', () => {
  const env = {
    OS_AUTH_URL: 'http://127.0.0.1:1/v3',
    OS_USERNAME: 'u',
    OS_PASSWORD: 'p',
    OS_PROJECT_NAME: 'x',
    OS_USER_DOMAIN_NAME: 'Default',
  };
  assert.equal(settings({}, env).openStack, undefined);
  assert.deepEqual(settings({ openstack: true }, env).openStack?.limits, { perHost: 8, total: 32 });
  assert.throws(() => settings({ openstack: true }), UsageError);
  assert.throws(
    () => settings({ openstack: true, openstackMigrations: '0' }, env),
    /invalid value 0 for --openstack-migrations: expected a number above 0/,
  );
});

test('sources of metrics and alerts are those of a file; an empty name is none', () => {
  assert.equal(
    settings({ monitoringConfig: '/etc/drydock/monitoring.yaml' }).monitoringConfig,
    '/etc/drydock/monitoring.yaml',
  );
  assert.equal(settings({ monitoringConfig: '' }).monitoringConfig, undefined);
});
