import { isObject, type JsonObject, own, readTime } from '@drydock/apimachinery';
import { seedPolicy } from '@drydock/core/drain';
import { releaseDuringWorkAnnotation } from '@drydock/core/maintenance';
import { mayLoseQuorum } from '@drydock/core/quorum';
import {
  type Claim,
  claimAnnotation,
  type KindAdapter,
  type MaintenanceRequest,
  noHistory,
} from '@drydock/core/request';

/**
 * An object of a served kind as it comes from the API server, which has validated it against its
 * CRD.
 */
type RawObject<Spec, Status> = {
  readonly metadata: RawMetadata;
  readonly spec?: Spec;
  readonly status?: Status;
};

/** Fields of metadata that are read. */
export type RawMetadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
};

const claims: Readonly<Record<string, Claim>> = { ours: 'ours', 'taken-over': 'takenOver' };

/**
 * Reads the common part of all served kinds; the rest has the values of a kind that demands a full
 * drain and stores nothing.
 */
export function readCommon<Spec, Status>(
  raw: unknown,
  adapter: KindAdapter,
): {
  readonly common: Omit<MaintenanceRequest, 'nodeName'>;
  readonly spec: Spec | undefined;
  readonly status: Status | undefined;
} {
  const { metadata, spec, status } = raw as RawObject<Spec, Status>;
  const { name, namespace, uid, resourceVersion } = metadata;
  const common = {
    key: `${adapter.name}/${namespace ?? ''}/${name}`,
    adapter,
    name,
    ...(namespace !== undefined && { namespace }),
    uid,
    resourceVersion,
    generation: metadata.generation ?? 0,
    createdAt: readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    claim: own(claims, metadata.annotations?.[claimAnnotation] ?? '') ?? 'none',
    level: 'Drain',
    mayLoseQuorum: mayLoseQuorum(metadata.annotations),
    ...(metadata.annotations?.[releaseDuringWorkAnnotation] === 'true' && {
      releasesDuringWork: true,
    }),
    policy: seedPolicy,
    history: noHistory,
    status: (isObject(status) ? status : {}) satisfies JsonObject,
  } as const;
  return { common, spec, status };
}
