/** Installed unless left out. */
export const usualParts = ['crds', 'rbac', 'operator', 'webhook'] as const;

/** Installed when asked for. */
export const extraParts = ['agent', 'monitoring', 'cert-manager'] as const;

/** A folder of deploy/. */
export type Part = (typeof usualParts)[number] | (typeof extraParts)[number];

/** The namespace in the files. */
export const usualNamespace = 'drydock-system';
