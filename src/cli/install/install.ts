import { stringify } from 'yaml';
import type { Connection } from '../../kube/connect.ts';
import { systemClock } from '../../support/clock.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { UsageError } from '../shared/fail.ts';
import { releaseOf } from '../shared/server-release.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { type Applied, Applier } from './install-apply.ts';
import type { Manifest } from './install-files.ts';
import { fitted } from './install-fit.ts';
import { servedOf } from './install-locate.ts';
import { type InstallOptions, manifests } from './install-manifests.ts';
import { type extraParts, type Part, partsByKinds, usualParts } from './install-parts.ts';

/** Folded texts are read differently by different programs, and not every one knows aliases. */
const yamlStyle = { lineWidth: 140, blockQuote: 'literal', aliasDuplicateObjects: false } as const;

/** As the command line gives them. */
export type InstallFlags = ConnectionFlags & {
  readonly apply?: boolean;
  readonly forceConflicts?: boolean;
  readonly namespace: string;
  readonly image?: string;
  readonly replicas?: string;
  readonly kubeVersion?: string;
  readonly kind: readonly string[];
  readonly with: readonly (typeof extraParts)[number][];
  readonly without: readonly (typeof usualParts)[number][];
};

const replicasOf = (text: string): number => {
  if (!/^\d{1,3}$/.test(text)) throw new UsageError(`invalid value "${text}" for --replicas: expected a whole number`);
  return Number(text);
};

const installOptionsOf = (flags: InstallFlags): InstallOptions => {
  const { namespace, image, replicas, kind } = flags;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    throw new UsageError(`--namespace is "${namespace}"; names of namespaces have lower-case letters, digits and dashes, 63 at most`);
  const parts = new Set<Part>(usualParts.filter(part => !flags.without.includes(part)));
  for (const part of flags.with) parts.add(part);
  return {
    parts,
    groups: kind,
    namespace,
    ...(image !== undefined && { image }),
    ...(replicas !== undefined && { replicas: replicasOf(replicas) }),
  };
};

/** The release to print for: without the flag one that lacks nothing. */
const kubeVersionOf = ({ apply, kubeVersion }: InstallFlags): { readonly minor: number } => {
  if (kubeVersion === undefined) return { minor: Number.POSITIVE_INFINITY };
  if (apply === true) throw new UsageError('--kube-version is for printing; --apply asks the API server for its version');
  const [, minor] = /^v?1\.(\d{1,3})(\.\d+)?$/.exec(kubeVersion) ?? [];
  if (minor === undefined) throw new UsageError(`invalid value "${kubeVersion}" for --kube-version: expected a release such as 1.30`);
  return { minor: Number(minor) };
};

/** As kubectl names objects. */
const nameOf = ({ apiVersion, kind, metadata }: Manifest): string => {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`;
};

const words: Readonly<Record<Applied['result'], string>> = {
  applied: 'serverside-applied',
  unchanged: 'unchanged',
  'left alone': 'left alone',
  failed: 'FAILED',
};

const lineOf = (manifest: Manifest, applied: Applied): string =>
  `${nameOf(manifest)} ${words[applied.result]}${'why' in applied ? `: ${applied.why}` : ''}\n`;

/** Applies all, whatever becomes of each, and gives back why those failed that did. */
const applyAll = async (applier: Applier, all: readonly Manifest[]): Promise<readonly string[]> => {
  const failed: string[] = [];
  const tell = (manifest: Manifest, applied: Applied): void => {
    if (applied.result === 'failed') failed.push(applied.why);
    if ('warnings' in applied) for (const warning of applied.warnings ?? []) process.stderr.write(`Warning: ${warning}\n`);
    process.stdout.write(lineOf(manifest, applied));
  };
  const crds: Manifest[] = [];
  for (const manifest of all) {
    // What comes after the kinds may need them.
    if (manifest.kind !== 'CustomResourceDefinition') await serving(applier, crds.splice(0), tell);
    const applied = await applier.apply(manifest);
    tell(manifest, applied);
    if (manifest.kind === 'CustomResourceDefinition' && applied.result === 'applied') crds.push(manifest);
  }
  await serving(applier, crds, tell);
  return failed;
};

const serving = async (applier: Applier, crds: readonly Manifest[], tell: (crd: Manifest, applied: Applied) => void): Promise<void> => {
  for (const crd of crds) {
    const served = await applier.established(crd);
    if (served.result === 'failed') tell(crd, served);
  }
};

/** The options with the parts for kinds that this cluster serves; said, because they are rights. */
const fitting = async (connection: Connection, installOptions: InstallOptions): Promise<InstallOptions> => {
  const parts = new Set(installOptions.parts);
  for (const { part, serves } of partsByKinds) {
    if (!parts.has('rbac') || parts.has(part)) continue;
    const here = (await servedOf(connection, serves)).map(({ group }) => group);
    if (here.length === 0) continue;
    parts.add(part);
    process.stdout.write(`${part}: added, because this cluster serves ${here.join(' and ')}\n`);
  }
  return { ...installOptions, parts };
};

const applyTo = async (connection: Connection, installOptions: InstallOptions, forceConflicts: boolean): Promise<void> => {
  const { all, leftOut } = fitted(manifests(await fitting(connection, installOptions)), await releaseOf(connection));
  for (const line of leftOut) process.stdout.write(`${line}\n`);
  const failed = await applyAll(new Applier({ api: connection, clock: systemClock, forceConflicts }), all);
  const help = failed.some(why => why.includes(' is forbidden: ')) ? '; whoever installs needs the rights of cluster-admin' : '';
  if (failed.length > 0) throw new Error(`${failed.length} of ${all.length} objects could not be applied; see above${help}`);
};

/** `drydock install`: prints all that a cluster needs, or applies it. Applying again changes nothing that is right already. */
export const install = async (flags: InstallFlags, env: Readonly<Record<string, string | undefined>>): Promise<void> => {
  const installOptions = installOptionsOf(flags);
  const release = kubeVersionOf(flags);
  if (flags.apply !== true) {
    process.stdout.write(
      fitted(manifests(installOptions), release)
        .all.map(manifest => stringify(manifest, yamlStyle))
        .join('---\n'),
    );
    return;
  }
  await withCluster(flags, env, connection => applyTo(connection, installOptions, flags.forceConflicts === true));
};
