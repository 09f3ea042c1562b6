import type { Manifest } from '../install/install-files.ts';
import { type InstallationFacts, type InstalledWorkload, isOperator } from './facts.ts';

/**
 * A missing or wrong setting. An Error keeps maintenances from working or makes them unsafe; a
 * Warning will do so some day.
 */
export type Finding = {
  readonly severity: 'Error' | 'Warning';
  readonly message: string;
  readonly remedy: string;
};

/** One check. `well` returns the text for a check without findings. */
export type Check = {
  readonly name: string;
  readonly well: (facts: InstallationFacts) => string;
  readonly findings: (facts: InstallationFacts) => readonly Finding[];
};

/** Returns kind, namespace and name, for messages. */
export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Returns the manifests of these kinds that this version installs. */
export function wantedOf(
  { wanted }: InstallationFacts,
  ...kinds: readonly string[]
): readonly Manifest[] {
  return wanted.filter(({ kind }) => kinds.includes(kind));
}

/** Returns the Deployments of operators. */
export function operators({ workloads }: InstallationFacts): readonly InstalledWorkload[] {
  return workloads.filter(isOperator);
}
