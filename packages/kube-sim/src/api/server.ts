import { isObject, type JsonObject } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { badRequest, type Failure } from '../failure.ts';
import { indexes, type Kind } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import type { DeleteOptions, WriteOptions } from '../registry/managed.ts';
import type { RegistryContext } from '../registry/metadata.ts';
import type { Resource, Store, StoreChange, StoreListener } from '../store/store.ts';
import type { ApiRequest } from './message.ts';
import {
  formOf,
  type Included,
  indexedValue,
  onlyMetadata,
  type Selection,
  shown,
  tableOf,
} from './render.ts';

/**
 * Index that separates watches: of a thousand watches of one node's pods each, a change concerns
 * one.
 */
const split: Readonly<Record<Resource, string>> = { pods: 'spec.nodeName' };

/**
 * Delivers changes to watches: those for one value of an indexed field receive only its changes.
 */
export class Feeds {
  readonly #store: Store;
  readonly #feeds = new Map<Resource, Feed>();

  constructor(store: Store) {
    this.#store = store;
  }

  follow(resource: Resource, selection: Selection, listener: StoreListener): () => void {
    let feed = this.#feeds.get(resource);
    if (feed === undefined) {
      feed = new Feed(resource);
      this.#feeds.set(resource, feed);
      const tell = feed.tell.bind(feed);
      this.#store.subscribe(tell, resource);
    }
    return feed.follow(selection, listener);
  }
}

class Feed {
  readonly #index: string | undefined;
  readonly #valuesOf: ((change: StoreChange) => readonly string[]) | undefined;
  readonly #all = new Set<StoreListener>();
  readonly #under = new Map<string, Set<StoreListener>>();

  constructor(resource: Resource) {
    this.#index = split[resource];
    const of = this.#index === undefined ? undefined : indexes[resource]?.[this.#index]?.of;
    this.#valuesOf =
      of &&
      (change => [
        ...new Set([...of(change.object), ...(change.type === 'added' ? [] : of(change.before))]),
      ]);
  }

  follow(selection: Selection, listener: StoreListener): () => void {
    const value = this.#index === undefined ? undefined : indexedValue(selection, this.#index);
    if (value === undefined || value === '') {
      this.#all.add(listener);
      return () => this.#all.delete(listener);
    }
    const under = this.#under.get(value) ?? new Set();
    this.#under.set(value, under.add(listener));
    return () => {
      under.delete(listener);
      if (under.size === 0 && this.#under.get(value) === under) this.#under.delete(value);
    };
  }

  tell(change: StoreChange): void {
    for (const listener of this.#all) listener(change);
    if (this.#under.size === 0) return;
    for (const value of this.#valuesOf?.(change) ?? [])
      for (const listener of this.#under.get(value) ?? []) listener(change);
  }
}

/** Returns the part of each object that the rows of a table include. */
export function includedFrom({ query }: ApiRequest): Included {
  const wanted = query.get('includeObject');
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
}

/** Dependencies of the handlers. */
export type Server = {
  readonly registry: RegistryContext;
  readonly feeds: Feeds;
  readonly clock: Clock;
};

/** Returns one object in the form that the client requests. */
export function single(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  object: Stored,
): JsonObject {
  const form = formOf(request.accept);
  if (form === 'object') return shown(kind, object);
  if (form === 'metadata') return onlyMetadata(object);
  const head = { resourceVersion: object.metadata.resourceVersion };
  return tableOf(kind, head, [object], {
    include: includedFrom(request),
    heads: true,
    now: server.clock.now(),
  });
}

/** Parsers of query parameters and DeleteOptions. */

export type Params<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'refused'; readonly failure: Failure };

function read<T>(value: T): Params<T> {
  return { kind: 'read', value };
}
function refuse<T>(message: string): Params<T> {
  return { kind: 'refused', failure: badRequest(message) };
}

export function isYes(value: string | undefined): boolean {
  return value !== undefined && value !== 'false' && value !== '0';
}

/** Parses a whole number; returns the parser's error in Go's words otherwise. */
export function number(text: string | undefined): Params<number | undefined> {
  if (text === undefined || text === '') return read(undefined);
  return /^-?[0-9]+$/.test(text)
    ? read(Number(text))
    : refuse(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

export function version(text: string | undefined): Params<number | undefined> {
  if (text === undefined || text === '') return read(undefined);
  if (/^[0-9]+$/.test(text)) return read(Number(text));
  const quoted = JSON.stringify(text);
  return refuse(
    `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
  );
}

/** Returns whether nothing may be written. */
export function isDryRun({ query }: ApiRequest): boolean {
  return query.get('dryRun') === 'All';
}

/**
 * Returns whether a deletion is a dry run: its options, or those in an Eviction, may request that
 * too.
 */
export function isDryDeletion(request: ApiRequest): boolean {
  const { body, path } = request;
  const given = body.kind === 'json' && isObject(body.value) ? body.value : {};
  const options =
    path.endsWith('/eviction') && isObject(given['deleteOptions']) ? given['deleteOptions'] : given;
  const said = options['dryRun'];
  return isDryRun(request) || (Array.isArray(said) && said.includes('All'));
}

const validations = ['Ignore', 'Warn', 'Strict'] as const;

export function writeOptions(request: ApiRequest): Params<WriteOptions> {
  const { query } = request;
  const wanted = query.get('fieldValidation');
  const fieldValidation = validations.find(one => one === wanted);
  return read({
    dryRun: isDryRun(request),
    manager: managerOf(request),
    ...(fieldValidation === undefined ? {} : { fieldValidation }),
  });
}

const policies = ['Orphan', 'Background', 'Foreground'] as const;

/** Returns the options from the body, or from the query where there is none. */
export function deleteOptions(request: ApiRequest): Params<DeleteOptions> {
  const { query, body } = request;
  if (body.kind === 'undecoded') return refuse(body.why);
  const given = body.kind === 'json' && isObject(body.value) ? body.value : {};
  const seconds =
    given['gracePeriodSeconds'] ??
    (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined);
  const policy = given['propagationPolicy'] ?? query.get('propagationPolicy');
  const orphans =
    given['orphanDependents'] ??
    (query.has('orphanDependents') ? isYes(query.get('orphanDependents')) : undefined);
  const propagationPolicy = policies.find(one => one === policy);
  const { uid, resourceVersion } = isObject(given['preconditions']) ? given['preconditions'] : {};
  return read({
    dryRun: isDryDeletion(request),
    ...(typeof seconds === 'number' ? { gracePeriodSeconds: seconds } : {}),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(typeof orphans === 'boolean' ? { orphanDependents: orphans } : {}),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
  });
}

/**
 * Returns the field manager: from the query, or the program's name. Upstream: managerOrUserAgent of
 * apiserver/pkg/endpoints/handlers.
 */
export function managerOf({ query, userAgent }: ApiRequest): string {
  return query.get('fieldManager') ?? (userAgent.split('/')[0] || 'unknown');
}
