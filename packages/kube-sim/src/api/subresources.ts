import { isObject } from '@drydock/apimachinery';
import { noSuchResource, notFound, success } from '../failure.ts';
import { named, type ScalePaths } from '../kinds/kind.ts';
import type { Draft } from '../object.ts';
import { bind } from '../registry/bind.ts';
import { evict } from '../registry/evict.ts';
import { finalize } from '../registry/finalize.ts';
import type { Edit, Refused } from '../registry/outcome.ts';
import { rescale, scaleOf } from '../registry/scale.ts';
import { draftIn } from './body.ts';
import { type ApiRequest, answer, failed, type Response } from './message.ts';
import { got, put } from './object-verbs.ts';
import { deleteOptions, isDryRun, writeOptions } from './params.ts';
import { patch, patched, patchKind } from './patch.ts';
import { shown } from './render.ts';
import type { Target } from './route.ts';
import type { Server } from './server.ts';

/** Handles `…/NAME/SUBRESOURCE`; returns undefined for other methods. */
export function subresource(
  server: Server,
  request: ApiRequest,
  target: Target,
): Response | undefined {
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
