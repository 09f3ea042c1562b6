import type { JsonObject } from '../../core/json.ts';
import type { LabelSelector } from '../../core/pod/selector.ts';
import type { Cause, Failure, GroupResource } from '../failure.ts';
import type { Draft, Stored } from '../object.ts';
import type { Index, Resource, Store } from '../store/store.ts';
import type { Column } from './column.ts';

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
  /** `pods`, `deployments.apps`: what the store keeps it under. */
  readonly resource: Resource;
  /** Has a status subresource. */
  readonly status: boolean;
  readonly scale?: ScalePaths;
  /** Fields beside metadata.name and metadata.namespace that field selectors may name. */
  readonly selectable: readonly string[];
  readonly columns: readonly Column[];
  /** What a deletion that removes the object at once answers with: most kinds a Status, some the object. */
  readonly answersDeletionWithObject: boolean;
  /** Reads an object of this kind; warnings are about fields that it does not have. */
  readonly read: (draft: Draft) => ReadObject;
  readonly strategy: Strategy;
  /** Merge keys for strategic merge patches and server-side apply: the Go type, or the schema of a CRD. */
  readonly shape: Shape;
};

export type ReadObject =
  | { readonly kind: 'read'; readonly object: Draft; readonly unknown: readonly string[] }
  | { readonly kind: 'unreadable'; readonly message: string };

/** How lists and maps of a kind are merged. */
export type Shape = { readonly kind: 'go'; readonly struct: string } | { readonly kind: 'schema'; readonly schema: JsonObject };

export type ScalePaths = { readonly spec: readonly string[]; readonly status: readonly string[]; readonly selector?: readonly string[] };

/** What a strategy may ask for while it works. */
export type Context = {
  readonly store: Store;
  /** The present moment as metav1.Time. */
  readonly now: string;
  readonly uid: string;
};

/** What a kind does beyond what all do: defaults, who may change what, and what is valid. Upstream: pkg/registry/…/strategy.go of each kind. */
export type Strategy = {
  /** Fills in what nobody gave; on create and on update. Upstream: pkg/apis/…/defaults.go. */
  readonly defaults?: (draft: Draft) => Draft;
  /** Before an object is created: drops what a client may not set, adds what the server sets. */
  readonly creating?: (draft: Draft, context: Context) => Draft;
  /** Before an update of the object itself. The status has been put back already. */
  readonly updating?: (draft: Draft, before: Stored, context: Context) => Draft;
  /** Before an update of the status. Without it everything but the status is put back, metadata excepted. */
  readonly updatingStatus?: (draft: Draft, before: Stored, context: Context) => Draft;
  /** On creation and on update. */
  readonly validate?: (draft: Draft) => readonly Cause[];
  readonly validateCreate?: (draft: Draft) => readonly Cause[];
  readonly validateUpdate?: (draft: Draft, before: Stored) => readonly Cause[];
  readonly validateStatus?: (draft: Draft, before: Stored) => readonly Cause[];
  /** Asks other objects; refuses in words of its own. Upstream: the admission plugins. */
  readonly admit?: (draft: Draft, before: Stored | undefined, context: Context) => Admitted;
  /** Checks a name; DNS subdomain when left out. */
  readonly nameProblem?: (name: string) => string | undefined;
  /** A replacement has to say which version it replaces: AllowUnconditionalUpdate is false. */
  readonly needsVersion?: true;
  /** metadata.generation: counted when anything but metadata and status changes, or not at all. */
  readonly generation: 'counted' | 'none';
  /** A change of annotations counts as well. */
  readonly countsAnnotations?: true;
};

export type Admitted = { readonly kind: 'admitted'; readonly draft: Draft } | { readonly kind: 'refused'; readonly failure: Failure };

export const named = ({ group, plural }: Kind): GroupResource => ({ group, resource: plural });
/** As messages about invalid objects and preconditions name it. */
export const namedByKind = ({ group, kind }: Kind): GroupResource => ({ group, resource: kind });
export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;
export const resourceOf = (group: string, plural: string): Resource => (group === '' ? plural : `${plural}.${group}`);

/** A value of the indexes by label: `namespace/key=value`. */
export const labelPlace = (namespace = '', label?: readonly [key: string, value: string]): string =>
  `${namespace}/${label?.join('=') ?? ''}`;

/** By namespace: those that nobody controls, which a controller may adopt. */
const orphan: Index = {
  from: ({ metadata }) => metadata.ownerReferences,
  of: ({ metadata }) =>
    metadata.ownerReferences?.some(({ controller }) => controller === true) === true ? [] : [metadata.namespace ?? ''],
};

const owner: Index = {
  from: ({ metadata }) => metadata.ownerReferences,
  of: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
};

const nodeNameOf = ({ spec }: Stored): string | undefined => (spec as { readonly nodeName?: string } | undefined)?.nodeName;

const nodeName: Index = {
  from: nodeNameOf,
  of: pod => [nodeNameOf(pod)].filter(name => name !== undefined),
};

/** By namespace and each label. */
const label: Index = {
  from: ({ metadata }) => metadata.labels,
  of: ({ metadata }) => Object.entries(metadata.labels ?? {}).map(one => labelPlace(metadata.namespace, one)),
};

/** Of budgets: by namespace and one of the labels that a pod must have; by namespace alone where there is no such label. */
const wanted: Index = {
  from: ({ spec }) => spec,
  of: ({ metadata, spec }) => {
    const { matchLabels } = (spec as { readonly selector?: LabelSelector | null } | undefined)?.selector ?? {};
    const [first] = Object.entries(matchLabels ?? {});
    return [labelPlace(metadata.namespace, first)];
  },
};

/** Indexes that every store of an embedded cluster has. */
export const indexes: Readonly<Record<Resource, Readonly<Record<string, Index>>>> = {
  '*': { owner },
  'poddisruptionbudgets.policy': { wanted },
  pods: { 'spec.nodeName': nodeName, label, orphan },
  'replicasets.apps': { orphan },
};
