import type { Manifest } from '@drydock/cli/install';

/**
 * What OLM and its console show of a kind: read from its CRD, where each field is described once.
 */

type Schema = {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
};
type Version = {
  readonly name: string;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
};
type CrdSpec = { readonly names: { readonly kind: string }; readonly versions: readonly Version[] };

type Descriptor = {
  readonly path: string;
  readonly displayName: string;
  readonly description: string;
};

/** `drainStartedAt` becomes `Drain Started At`. */
function titled(path: string): string {
  return path.replaceAll(/([A-Z])/g, ' $1').replace(/^./, first => first.toUpperCase());
}

function descriptors(schema: Schema | undefined): readonly Descriptor[] {
  return Object.entries(schema?.properties ?? {}).map(([path, { description = '' }]) => ({
    path,
    displayName: titled(path),
    description: description === '' ? titled(path) : description,
  }));
}

function versionOf(crd: Manifest): Version & { readonly kind: string } {
  const { names, versions } = crd['spec'] as CrdSpec;
  const stored = versions.find(({ storage }) => storage);
  if (stored === undefined) throw new Error(`${crd.metadata.name} stores no version`);
  return { ...stored, kind: names.kind };
}

/** The CSV's entry for a kind that the operator serves. */
export function ownedKind(crd: Manifest): object {
  const { name: version, kind, schema } = versionOf(crd);
  const { description = kind, properties = {} } = schema.openAPIV3Schema;
  const [specDescriptors, statusDescriptors] = [
    descriptors(properties['spec']),
    descriptors(properties['status']),
  ];
  return {
    name: crd.metadata.name,
    version,
    kind,
    displayName: titled(kind).trim(),
    description,
    specDescriptors,
    ...(statusDescriptors.length > 0 && { statusDescriptors }),
  };
}

/** Group, version and kind, for the properties of a catalog. */
export function groupVersionKind(crd: Manifest): {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
} {
  const { name: version, kind } = versionOf(crd);
  return { group: crd.metadata.name.replace(/^[^.]+\./, ''), version, kind };
}
