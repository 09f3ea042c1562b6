import type { Manifest } from './install-files.ts';
import { defaultNamespace } from './install-parts.ts';

/** What OLM makes itself, under names of its own, of the ClusterServiceVersion that `npm run release` writes. */

/** The generations of OLM: OLM 1 refuses webhooks, and takes only what may be installed for all namespaces. */
export type OlmVersion = 'olm' | 'olm-1';

/** A binding of a role to the operator. */
export type Binding = Manifest & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
};

/** Whether such a binding of this role is among the manifests. */
export const isBoundBy = (all: readonly Manifest[], role: Manifest, isMeant: (binding: Binding) => boolean): boolean =>
  all.some(one => {
    if (!('roleRef' in one)) return false;
    const binding = one as Binding;
    return binding.roleRef.kind === role.kind && binding.roleRef.name === role.metadata.name && isMeant(binding);
  });

const isWebhook = ({ kind, metadata }: Manifest): boolean =>
  kind === 'ValidatingWebhookConfiguration' || (kind === 'Service' && metadata.name === 'drydock-webhook');

/** Whether OLM makes this one of the manifests of the CSV. */
export const isMadeByOlm = (all: readonly Manifest[], one: Manifest, generation: OlmVersion, namespace = defaultNamespace): boolean => {
  const { kind, metadata } = one;
  if (['Deployment', 'ServiceAccount', 'ClusterRoleBinding'].includes(kind)) return true;
  if (kind === 'ClusterRole') return isBoundBy(all, one, binding => binding.kind === 'ClusterRoleBinding');
  if (generation === 'olm-1') return false;
  return isWebhook(one) || (['Role', 'RoleBinding'].includes(kind) && metadata.namespace === namespace);
};
