import { isObject } from '@drydock/apimachinery';
import { methodNotAllowed, noSuchResource, notFound, success } from '../failure.ts';
import { type Kind, named, type ScalePaths } from '../kinds/kind.ts';
import type { Draft } from '../object.ts';
import { remove } from '../registry/delete.ts';
import { evict } from '../registry/evict.ts';
import type { Edit, Refused } from '../registry/managed.ts';
import { bind, finalize, rescale, scaleOf } from '../registry/scale.ts';
import { replace } from '../registry/update.ts';
import { draftIn } from './body.ts';
import { discovery } from './discovery.ts';
import { collection } from './list.ts';
import { type ApiRequest, answer, failed, type Response, routeOf, type Target } from './message.ts';
import { patch, patched, patchKind } from './patch.ts';
import { shown } from './render.ts';
import { deleteOptions, isDryRun, type Server, single, writeOptions } from './server.ts';

/** Handles get, update, patch and delete of one object; returns undefined for other methods. */
function object(server: Server, request: ApiRequest, target: Target): Response | undefined {
  switch (request.method) {
    case 'GET':
      return got(server, request, target);
    case 'PUT':
      return put(server, request, target);
    case 'PATCH':
      return patch(server, request, target);
    case 'DELETE':
      return deleted(server, request, target);
    default:
      return undefined;
  }
}

function got(server: Server, request: ApiRequest, { of, namespace, name }: Target): Response {
  const found = server.registry.store.get(of.resource, namespace, name);
  return found === undefined
    ? failed(notFound(named(of), name))
    : answer(single(server, request, of, found));
}

function put(
  server: Server,
  request: ApiRequest,
  { of, namespace, name, subresource }: Target,
): Response {
  const given = draftIn(request, of, server.registry.kinds);
  if (given.kind === 'refused') return failed(given.failure);
  const options = writeOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const part = subresource === 'status' ? ({ subresource: 'status' } as const) : {};
  const outcome = replace(server.registry, of, namespace, name, given.draft, {
    ...options.value,
    ...part,
  });
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(single(server, request, of, outcome.object), 200, outcome.warnings);
}

/** Deletes an object. Some kinds return it; for the others a Status reports the deletion. */
function deleted(server: Server, request: ApiRequest, { of, namespace, name }: Target): Response {
  const options = deleteOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const deletion = remove(server.registry, of, namespace, name, options.value);
  if (deletion.kind === 'refused') return failed(deletion.failure);
  const status = !deletion.gone && options.value.orphanDependents === false ? 202 : 200;
  if (!deletion.gone || of.answersDeletionWithObject)
    return answer(shown(of, deletion.object), status);
  return answer(success(detailsOf(of, deletion.object.metadata)));
}

function detailsOf(
  kind: Kind,
  { name, uid }: { readonly name: string; readonly uid: string },
): Parameters<typeof success>[0] {
  return {
    name,
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.plural,
    uid,
  };
}

/** Handles `…/NAME/SUBRESOURCE`; returns undefined for other methods. */
function subresource(server: Server, request: ApiRequest, target: Target): Response | undefined {
  const { of, subresource } = target;
  if (subresource === 'status' && of.status) return status(server, request, target);
  if (subresource === 'scale' && of.scale !== undefined)
    return scale(server, request, target, of.scale);
  if (of.resource === 'pods' && subresource === 'eviction')
    return request.method === 'POST' ? eviction(server, request, target) : undefined;
  if (of.resource === 'pods' && subresource === 'binding')
    return request.method === 'POST' ? binding(server, request, target) : undefined;
  if (of.resource === 'namespaces' && subresource === 'finalize')
    return request.method === 'PUT' ? finalized(server, request, target) : undefined;
  return failed(noSuchResource());
}

function status(server: Server, request: ApiRequest, target: Target): Response | undefined {
  if (request.method === 'GET') return got(server, request, target);
  if (request.method === 'PUT') return put(server, request, target);
  return request.method === 'PATCH' ? patch(server, request, target) : undefined;
}

const evictionKind = { group: 'policy', version: 'v1', kind: 'Eviction' };

function eviction(server: Server, request: ApiRequest, { namespace, name }: Target): Response {
  const given = draftIn(request, evictionKind, server.registry.kinds);
  if (given.kind === 'refused') return failed(given.failure);
  const options = deleteOptions({
    ...request,
    body: { kind: 'json', value: given.draft['deleteOptions'] },
  });
  if (options.kind === 'refused') return failed(options.failure);
  // deleteOptions reads the query as well: an option in either place counts.
  const outcome = evict(server.registry, namespace, name, given.draft, options.value);
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(success(undefined, 201), 201);
}

const bindingKind = { group: '', version: 'v1', kind: 'Binding' };

function binding(server: Server, request: ApiRequest, { namespace, name }: Target): Response {
  const given = draftIn(request, bindingKind, server.registry.kinds);
  if (given.kind === 'refused') return failed(given.failure);
  const outcome = bind(server.registry, namespace, name, given.draft, isDryRun(request));
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(success(undefined, 201), 201);
}

function finalized(server: Server, request: ApiRequest, { of, name }: Target): Response {
  const given = draftIn(request, of, server.registry.kinds);
  if (given.kind === 'refused') return failed(given.failure);
  const outcome = finalize(server.registry, name, given.draft, isDryRun(request));
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(shown(of, outcome.object));
}

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
function shownScale(scale: Draft): Draft {
  return { kind: 'Scale', apiVersion: 'autoscaling/v1', ...scale };
}

function scale(
  server: Server,
  request: ApiRequest,
  target: Target,
  paths: ScalePaths,
): Response | undefined {
  const { of, namespace, name } = target;
  if (request.method === 'GET') {
    const found = server.registry.store.get(of.resource, namespace, name);
    return found === undefined
      ? failed(notFound(named(of), name))
      : answer(shownScale(scaleOf(of, paths, found)));
  }
  if (request.method !== 'PUT' && request.method !== 'PATCH') return undefined;
  const edit = request.method === 'PUT' ? replacing(server, request) : patching(request, target);
  if (edit.kind === 'refused') return failed(edit.failure);
  const options = writeOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const outcome = rescale(server.registry, of, paths, namespace, name, edit.edit, options.value);
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(shownScale(outcome.scale), 200, outcome.warnings);
}

type ScaleEdit =
  | { readonly kind: 'edit'; readonly edit: (scale: Draft) => ReturnType<Edit> }
  | Refused;

function replacing(server: Server, request: ApiRequest): ScaleEdit {
  const given = draftIn(request, scaleKind, server.registry.kinds);
  return given.kind === 'refused'
    ? given
    : { kind: 'edit', edit: () => ({ kind: 'edited', draft: given.draft }) };
}

/** A Scale has no lists: its strategic merge patch is a merge patch. */
function patching(request: ApiRequest, { of }: Target): ScaleEdit {
  const kind = patchKind(request, of);
  if (typeof kind !== 'string') return { kind: 'refused', failure: kind };
  const plain = kind === 'json' ? 'json' : 'merge';
  const read = (document: Draft): Draft => (isObject(document) ? document : {});
  return { kind: 'edit', edit: scale => patched(plain, of, shownScale(read(scale)), request) };
}

/** Handles one request, as kube-apiserver does. Never throws for any input of a client. */
export function handle(server: Server, request: ApiRequest): Response {
  const route = routeOf(request.path, server.registry.kinds);
  switch (route.kind) {
    case 'other':
      return discovery(server, request);
    case 'nothing':
      return failed(noSuchResource());
    case 'collection':
      return collection(server, request, route.of, route.namespace) ?? failed(methodNotAllowed());
    case 'object': {
      const answered =
        route.subresource === ''
          ? object(server, request, route)
          : subresource(server, request, route);
      return answered ?? failed(methodNotAllowed());
    }
    default:
      return route satisfies never;
  }
}
