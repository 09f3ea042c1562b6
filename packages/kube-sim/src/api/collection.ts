import type { JsonObject } from '@drydock/apimachinery';
import { invalid, methodNotAllowed, notAllowed } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import { create } from '../registry/create.ts';
import { remove } from '../registry/delete.ts';
import { draftIn } from './body.ts';
import { includedFrom } from './included.ts';
import { type Listed, list } from './list.ts';
import { type ApiRequest, answer, failed, type Response } from './message.ts';
import { deleteOptions, isYes, number, version, writeOptions } from './params.ts';
import { formOf, listOf, metadataListOf, tableOf } from './render.ts';
import { isSelected, parseFields, parseLabels, type Selection } from './selection.ts';
import type { Server } from './server.ts';
import { single } from './single.ts';
import { watching } from './watching.ts';

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
