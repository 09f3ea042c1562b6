/** Metadata that is needed to track an object. */
export type RawObject = {
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
};

type Metadata = {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly uid?: unknown;
  readonly resourceVersion?: unknown;
};

/** Returns an object's identity; undefined when it has none, which is invalid in Kubernetes. */
export function identify(raw: unknown): RawObject | undefined {
  const { name, namespace, uid = '', resourceVersion } = metadataOf(raw);
  if (typeof name !== 'string' || typeof uid !== 'string' || typeof resourceVersion !== 'string')
    return undefined;
  return {
    name: typeof namespace === 'string' && namespace !== '' ? `${namespace}/${name}` : name,
    uid,
    resourceVersion,
  };
}

/** Returns the resourceVersion of a list or of a bookmark. */
export function versionOf(raw: unknown): string | undefined {
  const { resourceVersion } = metadataOf(raw);
  return typeof resourceVersion === 'string' && resourceVersion !== ''
    ? resourceVersion
    : undefined;
}

function metadataOf(raw: unknown): Metadata {
  if (typeof raw !== 'object' || raw === null || !('metadata' in raw)) return {};
  return typeof raw.metadata === 'object' && raw.metadata !== null ? raw.metadata : {};
}
