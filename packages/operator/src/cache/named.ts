import type { CachedObject } from '@drydock/kube-client';

/** An object of which only the name counts, for example a DaemonSet. */
export type NamedObject = CachedObject;

/** Reads the metadata of an object. */
export function readNamed(raw: unknown): NamedObject {
  const { metadata } = raw as {
    readonly metadata: {
      readonly namespace?: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    };
  };
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
  };
}
