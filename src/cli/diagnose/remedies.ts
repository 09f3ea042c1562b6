import type { InstallationFacts } from './facts.ts';

/** For what is missing or of another version. What OLM has installed is not to be applied by another means: it would be changed back, or stay when OLM removes the rest. */
export const reinstall = ({ olm, version }: InstallationFacts): string =>
  olm === undefined
    ? 'drydock install --apply brings it to this version'
    : `OLM has installed the operator: update it there, and apply drydock-${olm}-prerequisites-${version}.yaml (docs/install-olm.md)`;
