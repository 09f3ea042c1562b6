import { isObject, type JsonObject } from '@drydock/apimachinery';
import {
  badRequest,
  expired,
  type Failure,
  invalid,
  methodNotAllowed,
  notAllowed,
} from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import { create } from '../registry/create.ts';
import { remove } from '../registry/delete.ts';
import type { Position, Store } from '../store/store.ts';
import { draftIn } from './body.ts';
import { type ApiRequest, answer, failed, type Response } from './message.ts';
import {
  formOf,
  indexedValue,
  isSelected,
  type ListHead,
  listOf,
  metadataListOf,
  parseFields,
  parseLabels,
  type Selection,
  tableOf,
} from './render.ts';
import {
  deleteOptions,
  includedFrom,
  isYes,
  number,
  type Server,
  single,
  version,
  writeOptions,
} from './server.ts';
import { watching } from './watch.ts';

/** The parameters of a request that select objects, and their number. */
type ListOptions = {
  readonly selection: Selection;
  readonly limit: number;
  readonly continueToken: string | undefined;
  readonly version: number | undefined;
  readonly match: 'Exact' | 'NotOlderThan' | undefined;
};

type Listed =
  | { readonly kind: 'listed'; readonly head: ListHead; readonly objects: readonly Stored[] }
  | { readonly kind: 'refused'; readonly failure: Failure };

function refuse(failure: Failure): Listed {
  return { kind: 'refused', failure };
}

type Token = { readonly version: number; readonly start: Position };

/**
 * Returns a token as apiserver/pkg/storage writes it: the version of the first page, and the key to
 * continue from.
 */
function tokenOf({ version, start }: Token, namespace: string | undefined): string {
  const key =
    namespace === undefined && start.namespace !== ''
      ? `${start.namespace}/${start.name}`
      : start.name;
  const json = JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: `/${key}\u0000` });
  return new TextEncoder().encode(json).toBase64({ alphabet: 'base64url', omitPadding: true });
}

function readToken(text: string, namespace: string | undefined): Token | undefined {
  try {
    const json: unknown = JSON.parse(
      new TextDecoder().decode(Uint8Array.fromBase64(text, { alphabet: 'base64url' })),
    );
    if (!isObject(json) || typeof json['rv'] !== 'number' || typeof json['start'] !== 'string')
      return undefined;
    const parts = json['start'].slice(1, -1).split('/');
    const [first = '', second] = parts;
    const start =
      second === undefined
        ? { namespace: namespace ?? '', name: first }
        : { namespace: first, name: second };
    return { version: json['rv'], start };
  } catch {
    return undefined;
  }
}

function isAfter({ metadata }: Stored, { namespace, name }: Position): boolean {
  const [own, other] = [`${metadata.namespace ?? ''}/`, `${namespace}/`];
  return own > other || (own === other && metadata.name > name);
}

/** Returns the index at which a sorted list continues. */
function firstAfter(objects: readonly Stored[], start: Position): number {
  let [low, high] = [0, objects.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const object = objects[middle];
    if (object !== undefined && !isAfter(object, start)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const tooLate =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

function tooLarge(version: number, current: number): Failure {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `Timeout: Too large resource version: ${version}, current: ${current}`,
    reason: 'Timeout',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
    code: 504,
  };
}

function forbiddenMatch(why: string): Failure {
  return invalid({ group: 'meta.k8s.io', resource: 'ListOptions' }, '', [
    notAllowed('resourceVersionMatch', why),
  ]);
}

/**
 * Returns the error in the options. Upstream: ValidateListOptions of
 * apimachinery/pkg/apis/meta/internalversion/validation.
 */
function problemOf({ version, match, continueToken }: ListOptions): Failure | undefined {
  if (match === undefined) return undefined;
  if (version === undefined)
    return forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (continueToken !== undefined)
    return forbiddenMatch('resourceVersionMatch is forbidden when continue is provided');
  if (match === 'Exact' && version === 0) {
    return forbiddenMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  return undefined;
}

/**
 * Returns the objects of a collection at a version, in order. Those of one node come from the
 * index.
 */
function candidates(
  store: Store,
  kind: Kind,
  selection: Selection,
  at: number | undefined,
): readonly Stored[] | undefined {
  if (at !== undefined && at !== store.version)
    return store.listAt(kind.resource, at, selection.namespace);
  const node = kind.resource === 'pods' ? indexedValue(selection, 'spec.nodeName') : undefined;
  if (node === undefined || node === '') return store.list(kind.resource, selection.namespace);
  return store.indexed('pods', 'spec.nodeName', node).toSorted(byKey);
}

function byKey(one: Stored, { metadata }: Stored): number {
  return isAfter(one, { namespace: metadata.namespace ?? '', name: metadata.name }) ? 1 : -1;
}

/** Returns a page of a collection. All pages of one list are of one version. */
function list(store: Store, kind: Kind, options: ListOptions): Listed {
  const problem = problemOf(options);
  if (problem !== undefined) return refuse(problem);
  const { selection, limit, continueToken, version } = options;
  const token =
    continueToken === undefined ? undefined : readToken(continueToken, selection.namespace);
  if (continueToken !== undefined && token === undefined) {
    return refuse(
      badRequest(
        'invalid continue token: continue key is not valid: illegal base64 data at input byte 0',
      ),
    );
  }
  const asked = token?.version ?? version;
  if (asked !== undefined && asked > store.version) return refuse(tooLarge(asked, store.version));
  // A token without a version continues with the present objects: an inconsistent list, which the
  // client has accepted.
  const at =
    token !== undefined
      ? token.version < 0
        ? store.version
        : token.version
      : options.match === 'Exact'
        ? version
        : store.version;
  const all = candidates(store, kind, selection, at);
  if (all === undefined) {
    if (token === undefined)
      return refuse(expired(`The resourceVersion for the provided list is too old.`));
    const fresh = tokenOf({ version: -1, start: token.start }, selection.namespace);
    return refuse({
      ...expired(tooLate),
      metadata: { continue: fresh } as unknown as Record<string, never>,
    });
  }
  return page(all, token?.start, at ?? store.version, { selection, limit });
}

type Wanted = { readonly selection: Selection; readonly limit: number };

function page(
  all: readonly Stored[],
  start: Position | undefined,
  version: number,
  { selection, limit }: Wanted,
): Listed {
  const found: Stored[] = [];
  let index = start === undefined ? 0 : firstAfter(all, start);
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  for (; index < all.length && found.length < most; index += 1) {
    const object = all[index];
    if (object !== undefined && isSelected(object, selection)) found.push(object);
  }
  const last = found.at(-1)?.metadata;
  const head: { resourceVersion: string } & JsonObject = { resourceVersion: String(version) };
  // When the limit falls on the last matching object, only a further search would show whether more
  // follow; the API server does not search.
  if (limit === 0 || index >= all.length || last === undefined)
    return { kind: 'listed', head, objects: found };
  const token = tokenOf(
    { version, start: { namespace: last.namespace ?? '', name: last.name } },
    selection.namespace,
  );
  const selects = selection.labels !== undefined || selection.fields.length > 0;
  return {
    kind: 'listed',
    head: {
      ...head,
      continue: token,
      ...(selects ? {} : { remainingItemCount: all.length - index }),
    },
    objects: found,
  };
}

type Selected =
  | { readonly kind: 'selected'; readonly selection: Selection }
  | { readonly kind: 'refused'; readonly response: Response };

function selectionOf({ query }: ApiRequest, kind: Kind, namespace: string | undefined): Selected {
  const labels = parseLabels(query.get('labelSelector'));
  if (labels.kind === 'refused') return { kind: 'refused', response: failed(labels.failure) };
  const fields = parseFields(query.get('fieldSelector'), kind);
  if (fields.kind === 'refused') return { kind: 'refused', response: failed(fields.failure) };
  return { kind: 'selected', selection: { namespace, labels: labels.value, fields: fields.value } };
}

/** Handles list, watch, create and deletecollection; returns undefined for other methods. */
export function collection(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  namespace: string | undefined,
): Response | undefined {
  switch (request.method) {
    case 'GET':
      return read(server, request, kind, namespace);
    case 'POST':
      // Only in a namespace, or cluster-wide: never in all namespaces.
      return kind.namespaced === (namespace !== undefined)
        ? made(server, request, kind, namespace ?? '')
        : undefined;
    case 'DELETE':
      if (kind.resource === 'namespaces' || (kind.namespaced && namespace === undefined))
        return failed(methodNotAllowed());
      return emptied(server, request, kind, namespace);
    default:
      return undefined;
  }
}

function read(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  namespace: string | undefined,
): Response {
  const selected = selectionOf(request, kind, namespace);
  if (selected.kind === 'refused') return selected.response;
  const { query } = request;
  const limit = number(query.get('limit'));
  if (limit.kind === 'refused') return failed(limit.failure);
  const problem = initialEventsProblem(request);
  if (problem !== undefined) return problem;
  if (isYes(query.get('watch'))) return watching(server, request, kind, selected.selection);
  const from = version(query.get('resourceVersion'));
  if (from.kind === 'refused') return failed(from.failure);
  const match = query.get('resourceVersionMatch');
  const listed = list(server.registry.store, kind, {
    selection: selected.selection,
    limit: Math.max(0, limit.value ?? 0),
    continueToken: query.get('continue') === '' ? undefined : query.get('continue'),
    version: from.value,
    match: match === 'Exact' || match === 'NotOlderThan' ? match : undefined,
  });
  return listed.kind === 'refused'
    ? failed(listed.failure)
    : answer(rendered(server, request, kind, listed));
}

function rendered(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  { head, objects }: Extract<Listed, { readonly kind: 'listed' }>,
): JsonObject {
  const form = formOf(request.accept);
  if (form === 'object') return listOf(kind, head, objects);
  if (form === 'metadata') return metadataListOf(head, objects);
  const include = includedFrom(request);
  return tableOf(kind, head, objects, { include, heads: true, now: server.clock.now() });
}

const listOptions = { group: 'meta.k8s.io', resource: 'ListOptions' };

/**
 * Checks sendInitialEvents. Upstream: ValidateListOptions of
 * apimachinery/pkg/apis/meta/internalversion/validation.
 */
function initialEventsProblem({ query }: ApiRequest): Response | undefined {
  const [initial, match] = [query.get('sendInitialEvents'), query.get('resourceVersionMatch')];
  const refuse = (field: string, why: string): Response =>
    failed(invalid(listOptions, '', [notAllowed(field, why)]));
  if (!isYes(query.get('watch'))) {
    return initial === undefined
      ? undefined
      : refuse('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  }
  if (match !== undefined && initial === undefined) {
    return refuse(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  return initial !== undefined && match !== 'NotOlderThan'
    ? refuse(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      )
    : undefined;
}

function made(server: Server, request: ApiRequest, kind: Kind, namespace: string): Response {
  const given = draftIn(request, kind, server.registry.kinds);
  if (given.kind === 'refused') return failed(given.failure);
  const options = writeOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const outcome = create(server.registry, kind, given.draft, namespace, options.value);
  if (outcome.kind === 'refused') return failed(outcome.failure, outcome.warnings);
  return answer(single(server, request, kind, outcome.object), 201, outcome.warnings);
}

/**
 * Deletes a collection; the items of the response are the objects as found, or as they terminate.
 */
function emptied(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  namespace: string | undefined,
): Response {
  const selected = selectionOf(request, kind, namespace);
  if (selected.kind === 'refused') return selected.response;
  const options = deleteOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const { store } = server.registry;
  const objects = store
    .list(kind.resource, namespace)
    .filter(object => isSelected(object, selected.selection));
  const begin = String(store.version);
  for (const object of objects) {
    const deletion = remove(
      server.registry,
      kind,
      object.metadata.namespace ?? '',
      object.metadata.name,
      options.value,
    );
    // An object that is gone meanwhile counts as deleted; any other error ends the request.
    if (deletion.kind === 'refused' && deletion.failure.code !== 404)
      return failed(deletion.failure);
  }
  return answer(listOf(kind, { resourceVersion: begin }, objects));
}
