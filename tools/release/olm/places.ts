import type { Manifest } from '../../../src/cli/install/install-files.ts';
import { manifests } from '../../../src/cli/install/install-manifests.ts';
import { usualNamespace } from '../../../src/cli/install/install-parts.ts';
import { manifest } from '../paths.ts';

/** Where each object that `drydock install` prints is for OLM: in the CSV, beside the CSV in the bundle, or applied before. */

/** The generations of OLM: OLM 1 refuses webhooks, and takes only what may be installed for all namespaces. */
export type Generation = 'olm' | 'olm-1';

/** A binding of a role to the operator. */
export type Binding = Manifest & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
};

type Place = 'csv' | 'bundle' | 'before';

/** Kinds of ours that both generations take beside the CSV. They put what is namespaced into the namespace of the operator. */
const taken = ['CustomResourceDefinition', 'Service', 'PodDisruptionBudget', 'ClusterRole'];

/** OLM makes the Service and the configuration of the webhook itself. */
const isWebhook = ({ kind, metadata }: Manifest): boolean =>
  kind === 'ValidatingWebhookConfiguration' || (kind === 'Service' && metadata.name === 'drydock-webhook');

const isBoundBy = (all: readonly Manifest[], { kind, metadata }: Manifest, isMeant: (binding: Binding) => boolean): boolean =>
  all.some(
    one =>
      'roleRef' in one &&
      (one as Binding).roleRef.kind === kind &&
      (one as Binding).roleRef.name === metadata.name &&
      isMeant(one as Binding),
  );

const isInCsv = (all: readonly Manifest[], one: Manifest, generation: Generation): boolean => {
  const { kind, metadata } = one;
  if (['Deployment', 'ServiceAccount', 'ClusterRoleBinding'].includes(kind)) return true;
  if (kind === 'ClusterRole') return isBoundBy(all, one, binding => binding.kind === 'ClusterRoleBinding');
  if (generation === 'olm-1') return false;
  return isWebhook(one) || (['Role', 'RoleBinding'].includes(kind) && metadata.namespace === usualNamespace);
};

const isInBundle = (all: readonly Manifest[], one: Manifest, generation: Generation): boolean => {
  const { kind, metadata } = one;
  // Bound in the namespaces of the node leases, which have to be there before: their role comes with them.
  if (kind === 'ClusterRole' && isBoundBy(all, one, binding => binding.metadata.namespace !== usualNamespace)) return false;
  if (taken.includes(kind)) return true;
  // OLM 1 would make the permissions of a CSV count in all namespaces: those of the operator's own are objects of the bundle.
  return generation === 'olm-1' && ['Role', 'RoleBinding'].includes(kind) && metadata.namespace === usualNamespace;
};

const placeOf = (all: readonly Manifest[], one: Manifest, generation: Generation): Place => {
  if (isInCsv(all, one, generation)) return 'csv';
  return isInBundle(all, one, generation) ? 'bundle' : 'before';
};

/** Every object of an installation, sorted by its place. The image is that of the operator, by its name in a registry. */
export const placed = (generation: Generation, image: string | undefined): Readonly<Record<Place | 'all', readonly Manifest[]>> => {
  const parts = new Set(['crds', 'rbac', 'operator', 'webhook', 'admission-policies'] as const);
  const all = manifests({ parts, groups: [], namespace: usualNamespace, ...(image !== undefined && { image }) });
  const at = (place: Place): readonly Manifest[] => all.filter(one => placeOf(all, one, generation) === place);
  return { all, csv: at('csv'), bundle: at('bundle'), before: at('before') };
};

/** Whether the binding is one of the operator's. */
export const isOperators = ({ subjects }: Binding): boolean => subjects.some(({ name }) => name === manifest.name);
