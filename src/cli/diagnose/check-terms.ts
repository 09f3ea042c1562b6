import type { Manifest } from '../install/install-files.ts';
import { type InstallationFacts, type InstalledWorkload, isOperator } from './facts.ts';

/** Something that is missing or wrong. An Error keeps maintenances from working, or makes them unsafe; a Warning will, some day. */
export type Finding = { readonly severity: 'Error' | 'Warning'; readonly message: string; readonly remedy: string };

/** One thing that is looked at. `well` says that nothing is wrong with it. */
export type Check = {
  readonly name: string;
  readonly well: (facts: InstallationFacts) => string;
  readonly findings: (facts: InstallationFacts) => readonly Finding[];
};

/** Kind, namespace and name, for messages. */
export const nameOf = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;

/** What this version installs of these kinds. */
export const wantedOf = ({ wanted }: InstallationFacts, ...kinds: readonly string[]): readonly Manifest[] =>
  wanted.filter(({ kind }) => kinds.includes(kind));

/** The Deployments of operators. */
export const operators = ({ workloads }: InstallationFacts): readonly InstalledWorkload[] => workloads.filter(isOperator);
