import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { printRaw } from '../shared/output.ts';

/** Prints the CRDs of these API groups, or of the default ones, as one YAML stream. */
export function crds(groups: readonly string[]): void {
  printRaw(crdTexts(groups.length === 0 ? defaultGroups : groups).join('---\n'));
}
