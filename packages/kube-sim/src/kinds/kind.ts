import type { Json, JsonObject, LabelSelector } from '@drydock/apimachinery';
import type { Cause, Failure, GroupResource } from '../failure.ts';
import type { Draft, Stored } from '../object.ts';
import type { Index, Resource, Store } from '../store/store.ts';

import columnTexts from './columns.json' with { type: 'json' };

/** A column of a Table response. */
export type Column = {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Priority; 0: always shown; higher: with `-o wide`. */
  readonly priority: number;
  readonly cell: (object: Stored, now: Temporal.Instant) => Json;
};

type ColumnText = Omit<Column, 'cell'>;
const texts: Readonly<Record<string, readonly ColumnText[] | undefined>> = columnTexts;

/**
 * Returns the columns of a built-in resource: definitions of the API server (columns.json, checked
 * by test/conformance/types), with their cells.
 */
export function columnsOf(
  resource: string,
  ...cells: readonly Column['cell'][]
): readonly Column[] {
  const heads = texts[resource] ?? [];
  if (heads.length !== cells.length)
    throw new Error(`${resource} has ${heads.length} columns and ${cells.length} cells`);
  return heads.map((head, index) => ({ ...head, cell: cells[index] as Column['cell'] }));
}

/** The first column of every kind. */
export const nameColumn: Column = {
  ...(texts['pods']?.[0] as ColumnText),
  cell: object => object.metadata.name,
};

/** A served kind in one of its versions. */
export type Kind = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Key in the store: `pods`, `deployments.apps`. */
  readonly resource: Resource;
  /** Whether it has a status subresource. */
  readonly status: boolean;
  readonly scale?: ScalePaths;
  /** Fields that field selectors may name, beside metadata.name and metadata.namespace. */
  readonly selectable: readonly string[];
  readonly columns: readonly Column[];
  /**
   * Whether the response to a deletion that removes the object at once is the object: for most
   * kinds it is a Status.
   */
  readonly answersDeletionWithObject: boolean;
  /** Decodes an object of this kind; warnings are about unknown fields. */
  readonly read: (draft: Draft) => ReadObject;
  readonly strategy: Strategy;
  /**
   * Merge keys for strategic merge patches and server-side apply: by the Go type, or the schema of
   * a CRD.
   */
  readonly shape: Shape;
};

export type ReadObject =
  | { readonly kind: 'read'; readonly object: Draft; readonly unknown: readonly string[] }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Source of the merge rules for lists and maps of a kind. */
export type Shape =
  | { readonly kind: 'go'; readonly struct: string }
  | { readonly kind: 'schema'; readonly schema: JsonObject };

export type ScalePaths = {
  readonly spec: readonly string[];
  readonly status: readonly string[];
  readonly selector?: readonly string[];
};

/** Context of a strategy. */
export type Context = {
  readonly store: Store;
  /** Current time as metav1.Time. */
  readonly now: string;
  readonly uid: string;
};

/**
 * Behavior of a kind beyond that of all: defaults, immutable fields, and validation. Upstream:
 * pkg/registry/…/strategy.go of each kind.
 */
export type Strategy = {
  /** Sets defaults; on create and on update. Upstream: pkg/apis/…/defaults.go. */
  readonly defaults?: (draft: Draft) => Draft;
  /** Prepares a creation: drops fields that a client may not set, adds those of the server. */
  readonly creating?: (draft: Draft, context: Context) => Draft;
  /** Prepares an update of the object itself. The status has already been restored. */
  readonly updating?: (draft: Draft, before: Stored, context: Context) => Draft;
  /**
   * Prepares an update of the status. Without it everything but the status is restored, except
   * metadata.
   */
  readonly updatingStatus?: (draft: Draft, before: Stored, context: Context) => Draft;
  /** Validates on creation and on update. */
  readonly validate?: (draft: Draft) => readonly Cause[];
  readonly validateCreate?: (draft: Draft) => readonly Cause[];
  readonly validateUpdate?: (draft: Draft, before: Stored) => readonly Cause[];
  readonly validateStatus?: (draft: Draft, before: Stored) => readonly Cause[];
  /** Checks other objects; refuses with its own message. Upstream: the admission plugins. */
  readonly admit?: (draft: Draft, before: Stored | undefined, context: Context) => Admitted;
  /** Checks a name; DNS subdomain when left out. */
  readonly nameProblem?: (name: string) => string | undefined;
  /**
   * Whether a replacement must contain the version that it replaces: AllowUnconditionalUpdate is
   * false.
   */
  readonly needsVersion?: true;
  /**
   * Whether metadata.generation is counted when anything but metadata and status changes, or not at
   * all.
   */
  readonly generation: 'counted' | 'none';
  /** Whether a change of annotations counts as well. */
  readonly countsAnnotations?: true;
};

export type Admitted =
  | { readonly kind: 'admitted'; readonly draft: Draft }
  | { readonly kind: 'refused'; readonly failure: Failure };

export function named({ group, plural }: Kind): GroupResource {
  return { group, resource: plural };
}
/** Returns the name in messages about invalid objects and preconditions. */
export function namedByKind({ group, kind }: Kind): GroupResource {
  return { group, resource: kind };
}
export function apiVersionOf({ group, version }: Pick<Kind, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}
export function resourceOf(group: string, plural: string): Resource {
  return group === '' ? plural : `${plural}.${group}`;
}

/** Returns a value of the indexes by label: `namespace/key=value`. */
export function labelPlace(namespace = '', label?: readonly [key: string, value: string]): string {
  return `${namespace}/${label?.join('=') ?? ''}`;
}

/** Index by namespace of objects without a controller, which one may adopt. */
const orphan: Index = {
  from: ({ metadata }) => metadata.ownerReferences,
  of: ({ metadata }) =>
    metadata.ownerReferences?.some(({ controller }) => controller === true) === true
      ? []
      : [metadata.namespace ?? ''],
};

const owner: Index = {
  from: ({ metadata }) => metadata.ownerReferences,
  of: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
};

function nodeNameOf({ spec }: Stored): string | undefined {
  return (spec as { readonly nodeName?: string } | undefined)?.nodeName;
}

const nodeName: Index = {
  from: nodeNameOf,
  of: pod => [nodeNameOf(pod)].filter(name => name !== undefined),
};

/** Index by namespace and each label. */
const label: Index = {
  from: ({ metadata }) => metadata.labels,
  of: ({ metadata }) =>
    Object.entries(metadata.labels ?? {}).map(one => labelPlace(metadata.namespace, one)),
};

/**
 * Index of budgets: by namespace and one of the labels that a pod must have; by namespace alone
 * where there is no such label.
 */
const wanted: Index = {
  from: ({ spec }) => spec,
  of: ({ metadata, spec }) => {
    const { matchLabels } =
      (spec as { readonly selector?: LabelSelector | null } | undefined)?.selector ?? {};
    const [first] = Object.entries(matchLabels ?? {});
    return [labelPlace(metadata.namespace, first)];
  },
};

/** Indexes of every embedded cluster's store. */
export const indexes: Readonly<Record<Resource, Readonly<Record<string, Index>>>> = {
  '*': { owner },
  'poddisruptionbudgets.policy': { wanted },
  pods: { 'spec.nodeName': nodeName, label, orphan },
  'replicasets.apps': { orphan },
};

/** Durations for people: k8s.io/apimachinery/pkg/util/duration. */

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns HumanDuration: at most two units, the second one only where the first is small. */
export function humanDuration(seconds: number): string {
  if (seconds < -1) return '<invalid>';
  const whole = Math.trunc(Math.max(seconds, 0));
  if (whole < 2 * minute) return `${whole}s`;
  const minutes = Math.trunc(whole / minute);
  if (minutes < 10) return withRest(minutes, 'm', whole % minute, 's');
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.trunc(whole / hour);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(whole / day);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`;
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;
}

/** Returns the duration since a time. */
export function ageOf(time: unknown, now: Temporal.Instant): string {
  if (typeof time !== 'string') return '<unknown>';
  return humanDuration(
    (now.epochMilliseconds - Temporal.Instant.from(time).epochMilliseconds) / 1000,
  );
}
