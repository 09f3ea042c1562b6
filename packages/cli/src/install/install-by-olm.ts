import type { Manifest } from './install-files.ts';
import { defaultNamespace } from './install-parts.ts';

/**
 * Objects that OLM creates itself, under its own names, from the ClusterServiceVersion that `npm
 * run release` writes.
 */

/** Generations of OLM: OLM 1 refuses webhooks, and installs only for all namespaces. */
export type OlmVersion = 'olm' | 'olm-1';

/** A binding of a role to the operator. */
export type Binding = Manifest & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
};

/** Returns whether the manifests include such a binding of this role. */
export function isBoundBy(
  all: readonly Manifest[],
  role: Manifest,
  isMeant: (binding: Binding) => boolean,
): boolean {
  return all.some(one => {
    if (!('roleRef' in one)) return false;
    const binding = one as Binding;
    return (
      binding.roleRef.kind === role.kind &&
      binding.roleRef.name === role.metadata.name &&
      isMeant(binding)
    );
  });
}

function isWebhook({ kind, metadata }: Manifest): boolean {
  return (
    kind === 'ValidatingWebhookConfiguration' ||
    (kind === 'Service' && metadata.name === 'drydock-webhook')
  );
}

/** Returns whether OLM creates this manifest from the CSV. */
export function isMadeByOlm(
  all: readonly Manifest[],
  one: Manifest,
  generation: OlmVersion,
  namespace = defaultNamespace,
): boolean {
  const { kind, metadata } = one;
  if (['Deployment', 'ServiceAccount', 'ClusterRoleBinding'].includes(kind)) return true;
  if (kind === 'ClusterRole')
    return isBoundBy(all, one, binding => binding.kind === 'ClusterRoleBinding');
  if (generation === 'olm-1') return false;
  return (
    isWebhook(one) || (['Role', 'RoleBinding'].includes(kind) && metadata.namespace === namespace)
  );
}
