/** Wildcard for every namespace. */
export const everyNamespace = '*';

/**
 * Namespaces whose objects count. In other namespaces a user with rights in that namespace alone
 * could write them, and such an object takes nodes away from the whole cluster.
 */
export type Namespaces = {
  readonly counts: (namespace: string) => boolean;
  /** Remedy for people: what to do about an object that does not count. */
  readonly remedy: string;
};

/** Returns the operator's own namespace and those that an administrator has opened. */
export function namespacesOf(own: string, others: readonly string[]): Namespaces {
  const all = new Set([own, ...others]);
  const remedy =
    all.size === 1
      ? `Not worked on: such objects count in namespace ${own} only. Create it there, or open this namespace with --machine-maintenance-watch-namespaces`
      : `Not worked on: such objects count in namespaces ${[...all].sort().join(', ')} only. Create it in one of them, or open this one as well with --machine-maintenance-watch-namespaces`;
  return { counts: namespace => all.has(everyNamespace) || all.has(namespace), remedy };
}
