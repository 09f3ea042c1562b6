import { defaultNamespace } from '../install/install-parts.ts';
import { UsageError } from '../shared/fail.ts';

/** The flags of a command that shows objects of namespaces, named as kubectl's. */
export type NamespaceFlags = { readonly namespace?: string; readonly allNamespaces?: boolean };

/** Whose objects are shown: those of one namespace, or all. */
export type NamespaceChoice = { readonly kind: 'all' } | { readonly kind: 'one'; readonly namespace: string };

/** What is shown of a list, and how many are not. */
export type ChosenObjects<T> = { readonly chosen: readonly T[]; readonly elsewhere: number };

/**
 * Returns whose objects are shown: without a flag those of the operator's namespace, because whoever has rights in another one could write anything into this list. Throws a UsageError
 * for both flags at once.
 */
export const namespaceChoice = ({ namespace, allNamespaces }: NamespaceFlags): NamespaceChoice => {
  if (namespace !== undefined && allNamespaces === true) throw new UsageError('--namespace and --all-namespaces cannot be combined');
  return allNamespaces === true ? { kind: 'all' } : { kind: 'one', namespace: namespace ?? defaultNamespace };
};

/** Picks the objects that are shown. An object without a namespace is the whole cluster's. */
export const chosenOf = <T extends { readonly namespace?: string | undefined }>(
  all: readonly T[],
  choice: NamespaceChoice,
): ChosenObjects<T> => {
  const chosen = all.filter(({ namespace }) => choice.kind === 'all' || namespace === undefined || namespace === choice.namespace);
  return { chosen, elsewhere: all.length - chosen.length };
};
