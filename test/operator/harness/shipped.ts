import { join } from 'node:path';
import type { Manifest } from '@drydock/cli/install';
import { defaultNamespace, manifests } from '@drydock/cli/install';
import type { Audited } from '../../control-plane/audit.ts';
import { collectionOf } from '../../control-plane/objects/cluster.ts';
import { type Outcome, run } from '../../control-plane/processes/command.ts';
import type { ControlPlane } from '../../control-plane/types.ts';
import type { Identity } from '../../control-plane/users.ts';
import { until } from '../../control-plane/wait.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** Where the sources of drydock begin. */
export const main = join(root, 'packages', 'cli', 'src', 'main.mjs');

/** Runs drydock from its sources. */
export function drydock(args: readonly string[]): Promise<Outcome> {
  return run(process.execPath, [main, ...args], { cwd: root });
}

/** Exactly who the API server takes a pod of the Deployment for. */
function serviceAccount(name: string): Identity {
  return {
    name: `system:serviceaccount:${defaultNamespace}:${name}`,
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:${defaultNamespace}`,
      'system:authenticated',
    ],
    namespace: defaultNamespace,
  };
}

/**
 * Users for a control plane: the operator may do what the shipped roles say and nothing else.
 * `second` may do the same, for tests that have to tell two operators apart in the audit log.
 */
export const operatorUsers: Readonly<Record<'drydock' | 'second', Identity>> = {
  drydock: serviceAccount('drydock'),
  second: serviceAccount('drydock-second'),
};

type Binding = Manifest & {
  readonly subjects: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }[];
};

function isBinding(manifest: Manifest): manifest is Binding {
  return manifest.kind.endsWith('RoleBinding');
}

/** Every binding of the operator is one of the second user's as well. */
async function bindSecond({ api }: ControlPlane, all: readonly Manifest[]): Promise<void> {
  for (const { apiVersion, kind, metadata, subjects } of all.filter(isBinding)) {
    const path = `${collectionOf(apiVersion, kind, metadata.namespace)}/${metadata.name}`;
    await api.patch(path, {
      subjects: subjects.flatMap(subject => [subject, { ...subject, name: 'drydock-second' }]),
    });
  }
}

/**
 * Roles for kinds that come to the cluster later; `drydock install` adds them by itself where they
 * are served already.
 */
export type MoreRoles = readonly ('machine-api' | 'virtual-machines' | 'plans')[];

/**
 * The embedded cluster has no ResourceQuota, as its document says: it admits critical pods
 * everywhere.
 */
function lacksQuotasOnly({ stdout, stderr }: Outcome): boolean {
  return (
    process.env['DRYDOCK_TEST_CLUSTER'] === 'embedded' &&
    `${stdout}${stderr}`
      .split('\n')
      .filter(line => line.includes(' FAILED: '))
      .every(line => line.includes('this cluster has no ResourceQuota of v1'))
  );
}

/**
 * Served kinds, roles and policies, as `drydock install` applies them; no Deployment, and no
 * webhook for it.
 */
export async function installShipped(
  controlPlane: ControlPlane,
  more: MoreRoles = [],
): Promise<void> {
  const parts = more.length === 0 ? [] : ['--with', ...more];
  const args = [
    'install',
    '--apply',
    '--without',
    'operator',
    'webhook',
    ...parts,
    '--kubeconfig',
    controlPlane.kubeconfig,
  ];
  const applied = await drydock(args);
  if (applied.code !== 0 && !lacksQuotasOnly(applied)) {
    throw new Error(
      `drydock install: exit code ${applied.code}\n${applied.stdout}${applied.stderr}`,
    );
  }
  const all = manifests({
    parts: new Set(['crds', 'rbac', ...more]),
    groups: [],
    namespace: defaultNamespace,
  });
  await bindSecond(controlPlane, all);
  for (const kind of [
    'drydock.dev/v1alpha1/maintenances',
    'nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
  ])
    await until(
      `${kind} to be served`,
      async () => (await controlPlane.api.call('GET', `/apis/${kind}`)).status === 200,
    );
}

function keyOf({ user, verb, resource, subresource, namespace, name }: Audited): string {
  return [user, verb, resource, subresource, namespace, name].join(' ');
}

/**
 * What the operators have asked for since the beginning, and no role allows. A server that has just
 * been started refuses everything until it has read the roles: what it allows the same user at
 * another time is not lacking, whatever came of it: the last line of a watch that ended with its
 * server has no code of success.
 */
export async function forbiddenCalls({ audit }: ControlPlane): Promise<readonly string[]> {
  const users = Object.keys(operatorUsers);
  const calls = (await audit.since(0)).filter(({ user }) => users.includes(user));
  const allowed = new Set(calls.filter(({ authorized }) => authorized).map(keyOf));
  const lacking = calls.filter(call => call.forbidden && !allowed.has(keyOf(call)));
  return [...new Set(lacking.map(({ verb, path }) => `${verb} ${path}`))];
}
