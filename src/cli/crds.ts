import { readdirSync, readFileSync } from 'node:fs';
import { UsageError } from './fail.ts';

const folder = new URL('../../deploy/crds/', import.meta.url);

/** Installed unless others are asked for: Drydock's own kinds, and those of the operators that are replaced most. */
export const usualGroups: readonly string[] = ['drydock.dev', 'nodemaintenance.medik8s.io', 'machinemaintenance.managed.openshift.io'];

/** The CRD files are named `plural.group.yaml`. */
const groupOf = (file: string): string => file.slice(file.indexOf('.') + 1, -'.yaml'.length);

const crdFiles = (): readonly string[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort();

/** The CRDs of these API groups as YAML documents. Throws a UsageError that names the groups there are. */
export const crdTexts = (groups: readonly string[]): readonly string[] => {
  const files = crdFiles();
  const known = files.map(groupOf);
  const unknown = groups.find(group => !known.includes(group));
  if (unknown !== undefined) throw new UsageError(`there is no kind of the group "${unknown}"; there are: ${known.join(', ')}`);
  return files.filter(file => groups.includes(groupOf(file))).map(name => readFileSync(new URL(name, folder), 'utf8'));
};

/** Prints the CRDs of these API groups, or of the usual ones, as one YAML stream. */
export const crds = (groups: readonly string[]): void => {
  process.stdout.write(crdTexts(groups.length === 0 ? usualGroups : groups).join('---\n'));
};
