import type { InstallationFacts } from './facts.ts';

/**
 * Returns the remedy for objects that are missing or of another version. Objects of OLM must not be
 * applied by other means: OLM would change them back, or leave them behind when it removes the
 * rest.
 */
export function reinstall({ olm, version }: InstallationFacts): string {
  return olm === undefined
    ? 'drydock install --apply brings it to this version'
    : `OLM has installed the operator: update it there, and apply drydock-${olm}-prerequisites-${version}.yaml (docs/install-olm.md)`;
}
