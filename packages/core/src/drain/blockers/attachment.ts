import { isBefore, readTime, secondsAfter, timeText, truncate } from '@drydock/apimachinery';
import type { BlockerInfo } from './blocker.ts';

/** A VolumeAttachment: a volume that is, or is about to be, attached to a node. */
export type Attachment = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  /** Name of the PersistentVolume; missing for inline volumes of migrated in-tree drivers. */
  readonly volume?: string;
  /** Name of the CSI driver that attaches and detaches the volume. */
  readonly attacher?: string;
  /** Time at which the detachment was requested (the deletionTimestamp). */
  readonly detachAskedAt?: Temporal.Instant;
  /** Message of the driver's last failed detachment. */
  readonly detachError?: string;
};

type RawAttachment = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName: string;
    readonly attacher?: string;
    readonly source?: { readonly persistentVolumeName?: string };
  };
  readonly status?: { readonly detachError?: { readonly message?: string } };
};

/** Reads the needed fields of a VolumeAttachment (storage.k8s.io/v1). */
export function readAttachment(raw: unknown): Attachment {
  const { metadata, spec, status } = raw as RawAttachment;
  const volume = spec.source?.persistentVolumeName;
  const detachAskedAt = readTime(metadata.deletionTimestamp);
  const detachError = status?.detachError && (status.detachError.message ?? 'it does not say why');
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    nodeName: spec.nodeName,
    ...(volume !== undefined && { volume }),
    ...(spec.attacher !== undefined && { attacher: spec.attacher }),
    ...(detachAskedAt && { detachAskedAt }),
    ...(detachError !== undefined && { detachError: truncate(detachError) }),
  };
}

/**
 * Seconds that a detachment may take: kube-controller-manager waits as long before it detaches by
 * force (maxWaitForUnmountDuration).
 */
const detachedWithin = 360;

/**
 * Returns the time at which a detachment, in progress or awaited since `since`, counts as failed.
 */
export function detachOverdueAt(
  { detachAskedAt }: Attachment,
  since: Temporal.Instant,
): Temporal.Instant {
  return secondsAfter(detachAskedAt ?? since, detachedWithin);
}

/**
 * Blocker for attachments that may not be listed: whether a volume is still attached is unknown.
 */
export const attachmentsUnknown: BlockerInfo = {
  reason: 'AttachmentsUnknown',
  message:
    'whether a volume of a pod that left is still attached is not known: Drydock may not list volumeattachments',
  remedy: 'give the operator that right: drydock check says which one it lacks',
};

/**
 * Returns the blocker for the attached volume of a pod that left, observed as attached since
 * `since`.
 */
export function attachmentBlockerInfo(
  attachment: Attachment,
  since: Temporal.Instant,
  now: Temporal.Instant,
): BlockerInfo {
  const { key, volume = key, attacher, detachAskedAt, detachError } = attachment;
  const driver = attacher === undefined ? 'its driver' : `its driver ${truncate(attacher, 100)}`;
  const isOverdue = !isBefore(now, detachOverdueAt(attachment, since));
  const still = `volume ${volume} of a pod that left is still attached`;
  const look = `kubectl describe volumeattachment ${key}`;
  if (detachError !== undefined) {
    const remedy = `ask the owner of ${driver.replace('its ', 'the ')}, whose controller has to detach it: ${look}`;
    return {
      reason: 'DetachFailed',
      volume,
      message: `${still}; ${driver} cannot detach it: ${detachError}`,
      remedy,
    };
  }
  if (detachAskedAt !== undefined) {
    const message = `${still}; ${driver} was asked to detach it at ${timeText(detachAskedAt)}`;
    if (!isOverdue) return { reason: 'VolumeAttached', volume, message };
    const remedy = `check that the controller of ${driver.replace('its ', 'the ')} runs: ${look}`;
    return { reason: 'DetachFailed', volume, message: `${message} and has not answered`, remedy };
  }
  if (!isOverdue) return { reason: 'VolumeAttached', volume, message: still };
  const remedy = `check the kubelet of the node, which unmounts it, and the attach-detach controller (kube-controller-manager), which asks ${driver} to detach it: ${look}`;
  return {
    reason: 'DetachFailed',
    volume,
    message: `${still}; ${driver} has not been asked to detach it`,
    remedy,
  };
}
