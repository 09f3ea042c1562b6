import { UsageError } from '@drydock/utils';
import { listShipped, readShipped } from '@drydock/utils/shipped';

/**
 * API groups of the CRDs that are installed by default: Drydock's own, and those of the operators
 * that it replaces most.
 */
export const defaultGroups: readonly string[] = [
  'drydock.dev',
  'nodemaintenance.medik8s.io',
  'machinemaintenance.managed.openshift.io',
];

/** API groups of older kinds, installed only on request. */
export const legacyGroups: readonly string[] = ['nodemaintenance.kubevirt.io', 'kubevirt.io'];

type CrdFile = { readonly name: string; readonly folder: string };

/** Returns the group from a CRD file's name, `plural.group.yaml`. */
function groupOf({ name }: CrdFile): string {
  return name.slice(name.indexOf('.') + 1, -'.yaml'.length);
}

function filesIn(folder: string): readonly CrdFile[] {
  return listShipped(`deploy/${folder}`).map(name => ({ name, folder }));
}

/**
 * Returns the default CRD files, and those of each older generation, in a folder named after its
 * group.
 */
function crdFiles(): readonly CrdFile[] {
  const older = listShipped('deploy/legacy').flatMap(group =>
    filesIn(`legacy/${group}`).filter(({ name }) => name.endsWith(`.${group}.yaml`)),
  );
  const usual = filesIn('crds').filter(({ name }) => name.endsWith('.yaml'));
  return [...usual, ...older].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * Returns the CRDs of these API groups as YAML documents. Throws a UsageError that names the known
 * groups.
 */
export function crdTexts(groups: readonly string[]): readonly string[] {
  const files = crdFiles();
  const known = [...new Set(files.map(groupOf))];
  const unknown = groups.find(group => !known.includes(group));
  if (unknown !== undefined)
    throw new UsageError(`unknown group "${unknown}"; available: ${known.join(', ')}`);
  return files
    .filter(file => groups.includes(groupOf(file)))
    .map(({ name, folder }) => readShipped(`deploy/${folder}/${name}`).toString());
}
