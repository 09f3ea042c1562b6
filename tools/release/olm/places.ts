import type { Manifest } from '@drydock/cli/install';
import {
  type Binding,
  defaultNamespace,
  isBoundBy,
  isMadeByOlm,
  manifests,
  type OlmVersion,
} from '@drydock/cli/install';
import { manifest } from '../paths.ts';

/**
 * Where each object that `drydock install` prints is for OLM: in the CSV, beside the CSV in the
 * bundle, or applied before.
 */

type Place = 'csv' | 'bundle' | 'before';

/**
 * Kinds of ours that both generations take beside the CSV. They put what is namespaced into the
 * namespace of the operator.
 */
const taken = ['CustomResourceDefinition', 'Service', 'PodDisruptionBudget', 'ClusterRole'];

function isInBundle(all: readonly Manifest[], one: Manifest, generation: OlmVersion): boolean {
  const { kind, metadata } = one;
  // Bound in the namespaces of the node leases, which have to be there before: their role comes
  // with them.
  if (
    kind === 'ClusterRole' &&
    isBoundBy(all, one, binding => binding.metadata.namespace !== defaultNamespace)
  )
    return false;
  if (taken.includes(kind)) return true;
  // OLM 1 would make the permissions of a CSV count in all namespaces: those of the operator's own
  // are objects of the bundle.
  return (
    generation === 'olm-1' &&
    ['Role', 'RoleBinding'].includes(kind) &&
    metadata.namespace === defaultNamespace
  );
}

function placeOf(all: readonly Manifest[], one: Manifest, generation: OlmVersion): Place {
  if (isMadeByOlm(all, one, generation)) return 'csv';
  return isInBundle(all, one, generation) ? 'bundle' : 'before';
}

/**
 * Every object of an installation, sorted by its place. The image is that of the operator, by its
 * name in a registry.
 */
export function placed(
  generation: OlmVersion,
  image: string | undefined,
): Readonly<Record<Place | 'all', readonly Manifest[]>> {
  const parts = new Set([
    'crds',
    'rbac',
    'shared-namespaces',
    'operator',
    'webhook',
    'admission-policies',
  ] as const);
  const all = manifests({
    parts,
    groups: [],
    namespace: defaultNamespace,
    ...(image !== undefined && { image }),
  });
  const at = (place: Place): readonly Manifest[] =>
    all.filter(one => placeOf(all, one, generation) === place);
  return { all, csv: at('csv'), bundle: at('bundle'), before: at('before') };
}

/** Whether the binding is one of the operator's. */
export function isOperators({ subjects }: Binding): boolean {
  return subjects.some(({ name }) => name === manifest.name);
}
