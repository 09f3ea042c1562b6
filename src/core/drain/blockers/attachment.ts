/** A VolumeAttachment: a volume that is, or is about to be, attached to a node. */
export type Attachment = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  /** Missing for inline volumes of migrated in-tree drivers. */
  readonly volume?: string;
};

type RawAttachment = {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: { readonly nodeName: string; readonly source?: { readonly persistentVolumeName?: string } };
};

/** Keeps of a VolumeAttachment (storage.k8s.io/v1) what this type has. */
export const readAttachment = (raw: unknown): Attachment => {
  const { metadata, spec } = raw as RawAttachment;
  const volume = spec.source?.persistentVolumeName;
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    nodeName: spec.nodeName,
    ...(volume !== undefined && { volume }),
  };
};
