import {
  isObject,
  type Json,
  type JsonObject,
  own,
  readTime,
  timeText,
} from '@drydock/apimachinery';
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
import type { MaintenanceStatus } from './schema/maintenance.ts';

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

/** Returns the same text for the same content, in any order of its keys. */
export function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value).filter(key => value[key] !== undefined);
  return `{${keys
    .toSorted()
    .map(key => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}

/**
 * Paths of the fields that a reader knows, with their defaults: for example `work.job.attempts=1`,
 * with `[]` for the fields of each item of a list. A field without fields of its own is kept whole,
 * with any contents; a path that ends with a dot is an object without fields.
 */
export type FieldPaths = readonly string[];

type Known = {
  readonly fields: Map<string, Known>;
  default?: string;
  isList?: true;
  isEmpty?: true;
};

function newKnown(): Known {
  return { fields: new Map() };
}

function parse(paths: FieldPaths): Known {
  const root = newKnown();
  for (const text of paths) {
    const equals = text.indexOf('=');
    const [path, value] = equals < 0 ? [text] : [text.slice(0, equals), text.slice(equals + 1)];
    let at = root;
    for (const part of path.split('.')) {
      if (part === '') continue;
      const isList = part.endsWith('[]');
      const name = isList ? part.slice(0, -2) : part;
      const next = at.fields.get(name) ?? newKnown();
      at.fields.set(name, next);
      if (isList) next.isList = true;
      at = next;
    }
    if (value !== undefined) at.default = canonical(JSON.parse(value) as Json);
    if (path.endsWith('.')) at.isEmpty = true;
  }
  return root;
}

/** Function that reports whether an unknown field is kept. */
type Unknown = (value: Json) => boolean;

function reduced(value: Json, known: Known, keeps: Unknown): Json {
  if (known.fields.size === 0 && !known.isEmpty) return value;
  if (Array.isArray(value))
    return known.isList
      ? (value as readonly Json[]).map(one => fieldsOf(one, known, keeps))
      : value;
  return fieldsOf(value, known, keeps);
}

function fieldsOf(value: Json, { fields }: Known, keeps: Unknown): Json {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(
    ([name, one]): readonly (readonly [string, Json])[] => {
      const known = fields.get(name);
      if (one === undefined) return [];
      if (known === undefined) return keeps(one) ? [[name, one]] : [];
      const left = reduced(one, known, keeps);
      return known.default !== undefined && canonical(left) === known.default ? [] : [[name, left]];
    },
  );
  return Object.fromEntries(kept);
}

/**
 * Returns a function that reduces an object to the fields that a user has written and that are
 * read: without fields that no reader knows, and without those that have their default. A new field
 * of the CRD, or a new default, does not change the result.
 */
export function writtenIn(
  paths: FieldPaths,
  keeps: Unknown = () => false,
): (object: JsonObject) => JsonObject {
  const known = parse(paths);
  return object => fieldsOf(object, known, keeps) as JsonObject;
}

/** metav1.Condition. */
export type Condition = NonNullable<MaintenanceStatus['conditions']>[number];

/** A condition as it is at this moment; the time and the generation are added from the object. */
export type NewCondition = Omit<Condition, 'observedGeneration' | 'lastTransitionTime'>;

/**
 * Returns conditions as they are stored: the time of a transition changes only when the status does
 * (metav1.Condition).
 */
export function withTransitions(
  conditions: readonly NewCondition[],
  stored: readonly Condition[] | undefined,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] {
  return conditions.map(one => {
    const before = stored?.find(({ type }) => type === one.type);
    const lastTransitionTime =
      before?.status === one.status ? before.lastTransitionTime : timeText(now);
    return { ...one, observedGeneration: generation, lastTransitionTime };
  });
}
