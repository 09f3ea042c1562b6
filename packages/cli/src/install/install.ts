import { joinLimited } from '@drydock/apimachinery';
import type { Connection } from '@drydock/kube-client';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import { stringify } from 'yaml';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { seconds } from '../shared/fail.ts';
import { plainOutput, printRaw } from '../shared/output.ts';
import { releaseOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import {
  type AccessQuestion,
  accessToInventory,
  accessToTake,
  requireAccess,
  takeFromHelm,
} from './access.ts';
import { type Applied, Applier, leftOver, Pruning } from './install-apply.ts';
import { adaptToServerVersion, lineOf, type Manifest, servedOf } from './install-locate.ts';
import {
  type InstallOptions,
  inventoryOf,
  manifests,
  namespacesOf,
  operatorsIn,
  partLabel,
  type StoredObject,
} from './inventory.ts';
import { changeBy, managerOf } from './others.ts';
import { defaultParts, extraParts, type Part, partsByKinds } from './rollout.ts';
import { accessToWait, waitForRollout } from './rollout-wait.ts';

/** YAML style: programs read folded texts differently, and not every one supports aliases. */
const yamlStyle = { lineWidth: 140, blockQuote: 'literal', aliasDuplicateObjects: false } as const;

/** Flags of the command line. */
export type InstallFlags = ConnectionFlags & {
  readonly apply?: boolean;
  readonly dryRun: 'none' | 'server';
  readonly forceConflicts?: boolean;
  readonly takeOwnership?: boolean;
  readonly wait?: boolean;
  readonly timeout: string;
  readonly namespace: string;
  readonly image?: string;
  readonly replicas?: string;
  readonly kubeVersion?: string;
  readonly kind: readonly string[];
  readonly with: readonly (typeof extraParts)[number][];
  readonly without: readonly Part[];
};

function replicasOf(text: string): number {
  if (!/^\d{1,3}$/.test(text))
    throw new UsageError(`invalid value "${text}" for --replicas: expected a whole number`);
  return Number(text);
}

function installOptionsOf(flags: InstallFlags): InstallOptions {
  const { namespace, image, replicas, kind } = flags;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    throw new UsageError(
      `--namespace is "${namespace}"; names of namespaces have lower-case letters, digits and dashes, 63 at most`,
    );
  const both = flags.with.find(part => flags.without.includes(part));
  if (both !== undefined) throw new UsageError(`${both} cannot be installed --with and --without`);
  const parts = new Set<Part>(defaultParts.filter(part => !flags.without.includes(part)));
  for (const part of flags.with) parts.add(part);
  return {
    parts,
    groups: kind,
    namespace,
    ...(image !== undefined && { image }),
    ...(replicas !== undefined && { replicas: replicasOf(replicas) }),
  };
}

/** Returns the Kubernetes release to print for; without the flag, one with all features. */
function kubeVersionOf({ apply, kubeVersion }: InstallFlags): { readonly minor: number } {
  if (kubeVersion === undefined) return { minor: Number.POSITIVE_INFINITY };
  if (apply === true)
    throw new UsageError(
      '--kube-version is for printing; --apply asks the API server for its version',
    );
  const [, minor] = /^v?1\.(\d{1,3})(\.\d+)?$/.exec(kubeVersion) ?? [];
  if (minor === undefined)
    throw new UsageError(
      `invalid value "${kubeVersion}" for --kube-version: expected a release such as 1.30`,
    );
  return { minor: Number(minor) };
}

const words: Readonly<Record<Applied['result'], string>> = {
  applied: 'serverside-applied',
  unchanged: 'unchanged',
  'left alone': 'left alone',
  failed: 'FAILED',
};

type OnApplied = (manifest: Manifest, applied: Applied) => void;

async function applyEach(
  applier: Applier,
  all: readonly Manifest[],
  onApplied: OnApplied,
): Promise<void> {
  const crds: Manifest[] = [];
  for (const manifest of all) {
    // Objects that follow CRDs may need their kinds.
    if (manifest.kind !== 'CustomResourceDefinition')
      await serving(applier, crds.splice(0), onApplied);
    const applied = await applier.apply(manifest);
    onApplied(manifest, applied);
    if (manifest.kind === 'CustomResourceDefinition' && applied.result === 'applied')
      crds.push(manifest);
  }
  await serving(applier, crds, onApplied);
}

/** Applies all objects, whatever the result for each. Throws when some failed. */
async function applyAll(
  applier: Applier,
  all: readonly Manifest[],
  dryRun: boolean,
): Promise<void> {
  const failed: string[] = [];
  await applyEach(applier, all, (manifest, applied) => {
    if (applied.result === 'failed') failed.push(applied.why);
    if ('warnings' in applied)
      for (const warning of applied.warnings ?? []) plainOutput.note(`Warning: ${warning}`);
    plainOutput.line(
      lineOf(manifest, words[applied.result], {
        ...applied,
        dryRun: dryRun && applied.result === 'applied',
      }),
    );
  });
  const help = failed.some(isForbidden) ? ofAdmins : '';
  if (failed.length > 0)
    throw new Error(
      `${failed.length} of ${all.length} objects could not be applied; see above${help}`,
    );
}

/**
 * Refuses a partial takeover: throws when the API server would refuse a part of the installation.
 */
async function refuseHalf(applier: Applier, all: readonly Manifest[]): Promise<void> {
  const failed: string[] = [];
  await applyEach(applier, all, (manifest, applied) => {
    if (applied.result === 'failed') failed.push(lineOf(manifest, words.failed, applied));
  });
  if (failed.length > 0)
    throw new Error(
      `Helm keeps it, and nothing has been changed, because a part of it would be refused: ${joinLimited(failed)}`,
    );
}

async function serving(
  applier: Applier,
  crds: readonly Manifest[],
  onApplied: OnApplied,
): Promise<void> {
  for (const crd of crds) {
    const served = await applier.established(crd);
    if (served.result === 'failed') onApplied(crd, served);
  }
}

/**
 * Returns the options with the parts for kinds that this cluster serves; prints them, because they
 * grant rights.
 */
async function fitting(
  connection: Connection,
  installOptions: InstallOptions,
  without: readonly Part[],
): Promise<InstallOptions> {
  const parts = new Set(installOptions.parts);
  for (const { part, serves } of partsByKinds) {
    if (!parts.has('rbac') || parts.has(part) || without.includes(part)) continue;
    const here = (await servedOf(connection, serves)).map(({ group }) => group);
    if (here.length === 0) continue;
    parts.add(part);
    plainOutput.line(`${part}: added, because this cluster serves ${here.join(' and ')}`);
  }
  return { ...installOptions, parts };
}

const ofAdmins = '; run the command with the rights of cluster-admin';

/** Rethrows a failed read with help: objects that cannot be read may exist all the same. */
async function known<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw new Error(`${errorText(error)}${isForbidden(errorText(error)) ? ofAdmins : ''}`, {
      cause: error,
    });
  }
}

/**
 * Returns whether the user lacks the right; admission plugins use similar words for their denials.
 */
function isForbidden(text: string): boolean {
  return / is forbidden: user "/i.test(text);
}

/**
 * Returns the options with the parts that the installation already has: an upgrade brings all parts
 * to one version.
 */
function keptUp(
  installOptions: InstallOptions,
  here: readonly StoredObject[],
  without: readonly Part[],
): InstallOptions {
  const parts = new Set(installOptions.parts);
  for (const part of extraParts) {
    const isHere = here.some(({ metadata }) => metadata.labels?.[partLabel] === part);
    const isPossible = part !== 'cert-manager' || (parts.has('webhook') && parts.has('operator'));
    if (!isHere || !isPossible || parts.has(part) || without.includes(part)) continue;
    parts.add(part);
    plainOutput.line(`${part}: kept, because it is installed; --without ${part} prunes it`);
  }
  return { ...installOptions, parts };
}

/**
 * Refuses a second operator: both would act on the same nodes, and the cluster's roles and webhook
 * would change owner.
 */
function refuseSecond(operators: readonly StoredObject[], namespace: string): void {
  const [other, ...more] = namespacesOf(operators).filter(one => one !== namespace);
  if (other === undefined) return;
  throw new Error(
    `Drydock is installed in namespace ${[other, ...more].join(' and ')}, and there can be one installation in a cluster: --namespace ${other} changes that one, drydock uninstall --namespace ${other} removes it`,
  );
}

/**
 * Returns the Helm release to take the installation over from, if any. Throws where the flags or
 * the manager do not allow that.
 */
function releaseToTake(
  here: readonly StoredObject[],
  { namespace, takeOwnership = false }: InstallFlags,
): string | undefined {
  const manager = managerOf(here, namespace);
  if (manager === undefined) return undefined;
  if (manager.tool === 'OLM' || !takeOwnership) throw new Error(changeBy(manager, namespace));
  return manager.release;
}

/** Returns the access reviews beyond those for applying and pruning. */
function besides(
  namespace: string,
  release: string | undefined,
  isWaited: boolean,
): readonly AccessQuestion[] {
  return [
    ...(release === undefined ? [] : accessToTake(namespace)),
    ...(isWaited ? accessToWait(namespace) : []),
  ];
}

async function applyTo(connection: Connection, flags: InstallFlags): Promise<void> {
  const { without, forceConflicts = false, wait = false } = flags;
  const dryRun = flags.dryRun === 'server';
  const [requested, server] = [installOptionsOf(flags), await releaseOf(connection)];
  const { namespace } = requested;
  await requireAccess(connection, {
    applied: adaptToServerVersion(manifests(requested), server).all,
    kinds: accessToInventory(),
  });
  const operators = await known(operatorsIn(connection));
  refuseSecond(operators, namespace);
  const here = await known(inventoryOf(connection, namespace));
  const release = releaseToTake([...here, ...operators], flags);
  const installOptions = await fitting(connection, keptUp(requested, here, without), without);
  const { all, leftOut } = adaptToServerVersion(manifests(installOptions), server);
  for (const line of leftOut) plainOutput.line(line);
  const over = leftOver(here, all);
  await requireAccess(connection, {
    applied: all,
    deleted: over,
    besides: besides(namespace, release, wait),
  });
  const options = {
    api: connection,
    clock: systemClock,
    forceConflicts: forceConflicts || release !== undefined,
  };
  if (release !== undefined) await refuseHalf(new Applier({ ...options, dryRun: true }), all);
  const pruning = new Pruning(connection, { dryRun, over });
  await pruning.failClosed();
  await applyAll(new Applier({ ...options, dryRun }), all, dryRun);
  await pruning.rest();
  if (release !== undefined) await takeFromHelm(connection, { release, namespace }, all, dryRun);
  const timeoutSeconds = seconds('--timeout', flags.timeout);
  if (wait)
    await waitForRollout(connection, {
      namespace,
      hasWebhook: requested.parts.has('webhook'),
      timeoutSeconds,
    });
}

/**
 * Returns whether a namespace belongs to Kubernetes or OpenShift: it exists, and is never the
 * installation's own.
 */
function isOfPlatform(name: string): boolean {
  return name === 'default' || /^(kube|openshift)-/.test(name);
}

/**
 * Prints the manifests, except a platform's namespace: it exists already, and applying it would
 * change its labels. Does not check the cluster for it.
 */
function printAll(all: readonly Manifest[], namespace: string): void {
  const shown = all.filter(
    ({ kind, metadata }) =>
      kind !== 'Namespace' || metadata.name !== namespace || !isOfPlatform(namespace),
  );
  printRaw(shown.map(manifest => stringify(manifest, yamlStyle)).join('---\n'));
  if (shown.length < all.length)
    plainOutput.note(
      `drydock: namespace ${namespace} is left out: it has to be there, and keeps its labels`,
    );
}

/** Refuses --wait without changes to wait for, or without an operator. */
function refuseWait({ apply = false, dryRun, without, timeout }: InstallFlags): void {
  seconds('--timeout', timeout);
  if (!apply || dryRun === 'server')
    throw new UsageError(
      '--wait is for --apply, and not for a dry run: nothing comes up otherwise',
    );
  if (without.includes('operator'))
    throw new UsageError('--wait waits for the operator, which --without operator leaves out');
}

/**
 * `drydock install`: prints all objects that a cluster needs, or applies them. Repeating it changes
 * nothing that is already right.
 */
export async function install(
  flags: InstallFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const installOptions = installOptionsOf(flags);
  const release = kubeVersionOf(flags);
  if (flags.dryRun === 'server' && flags.apply !== true)
    throw new UsageError('--dry-run is for --apply; without it nothing is changed anyway');
  if (flags.wait === true) refuseWait(flags);
  if (flags.apply !== true) {
    printAll(
      adaptToServerVersion(manifests(installOptions), release).all,
      installOptions.namespace,
    );
    return;
  }
  await withCluster(flags, env, connection => applyTo(connection, flags));
}
