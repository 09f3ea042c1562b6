import { UsageError } from '@drydock/utils';
import { defaultNamespace } from '../install/install-parts.ts';

/** Flags of a command that shows namespaced objects, with kubectl's names. */
export type NamespaceFlags = { readonly namespace?: string; readonly allNamespaces?: boolean };

/** Choice of the objects to show: those of one namespace, or all. */
export type NamespaceChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly namespace: string };

/** Objects of a list to show, and the number of the others. */
export type ChosenObjects<T> = { readonly chosen: readonly T[]; readonly elsewhere: number };

/**
 * Returns the choice of namespace: without a flag, the operator's, because users with rights in
 * another namespace could put arbitrary text into this list. Throws a UsageError for both flags at
 * once.
 */
export function namespaceChoice({ namespace, allNamespaces }: NamespaceFlags): NamespaceChoice {
  if (namespace !== undefined && allNamespaces === true)
    throw new UsageError('--namespace and --all-namespaces cannot be combined');
  return allNamespaces === true
    ? { kind: 'all' }
    : { kind: 'one', namespace: namespace ?? defaultNamespace };
}

/** Selects the objects to show; cluster-scoped ones are always included. */
export function chosenOf<T extends { readonly namespace?: string | undefined }>(
  all: readonly T[],
  choice: NamespaceChoice,
): ChosenObjects<T> {
  const chosen = all.filter(
    ({ namespace }) =>
      choice.kind === 'all' || namespace === undefined || namespace === choice.namespace,
  );
  return { chosen, elsewhere: all.length - chosen.length };
}
