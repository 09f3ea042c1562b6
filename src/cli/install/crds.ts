import { listShipped, readShipped } from '../../support/shipped.ts';
import { UsageError } from '../shared/fail.ts';
import { printRaw } from '../shared/output.ts';

/** Installed unless others are asked for: Drydock's own kinds, and those of the operators that are replaced most. */
export const defaultGroups: readonly string[] = ['drydock.dev', 'nodemaintenance.medik8s.io', 'machinemaintenance.managed.openshift.io'];

/** Older kinds, which are installed when asked for. */
export const legacyGroups: readonly string[] = ['nodemaintenance.kubevirt.io', 'kubevirt.io'];

type CrdFile = { readonly name: string; readonly folder: string };

/** The CRD files are named `plural.group.yaml`. */
const groupOf = ({ name }: CrdFile): string => name.slice(name.indexOf('.') + 1, -'.yaml'.length);

const filesIn = (folder: string): readonly CrdFile[] => listShipped(`deploy/${folder}`).map(name => ({ name, folder }));

/** Those that are installed usually, and those of each older generation, in a folder that is named by its group. */
const crdFiles = (): readonly CrdFile[] => {
  const older = listShipped('deploy/legacy').flatMap(group =>
    filesIn(`legacy/${group}`).filter(({ name }) => name.endsWith(`.${group}.yaml`)),
  );
  const usual = filesIn('crds').filter(({ name }) => name.endsWith('.yaml'));
  return [...usual, ...older].toSorted((one, other) => (one.name < other.name ? -1 : 1));
};

/** The CRDs of these API groups as YAML documents. Throws a UsageError that names the groups there are. */
export const crdTexts = (groups: readonly string[]): readonly string[] => {
  const files = crdFiles();
  const known = [...new Set(files.map(groupOf))];
  const unknown = groups.find(group => !known.includes(group));
  if (unknown !== undefined) throw new UsageError(`unknown group "${unknown}"; available: ${known.join(', ')}`);
  return files.filter(file => groups.includes(groupOf(file))).map(({ name, folder }) => readShipped(`deploy/${folder}/${name}`).toString());
};

/** Prints the CRDs of these API groups, or of the usual ones, as one YAML stream. */
export const crds = (groups: readonly string[]): void => {
  printRaw(crdTexts(groups.length === 0 ? defaultGroups : groups).join('---\n'));
};
