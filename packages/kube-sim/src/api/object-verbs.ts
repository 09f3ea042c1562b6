import { notFound, success } from '../failure.ts';
import { type Kind, named } from '../kinds/kind.ts';
import { remove } from '../registry/delete.ts';
import { replace } from '../registry/update.ts';
import { draftIn } from './body.ts';
import { type ApiRequest, answer, failed, type Response } from './message.ts';
import { deleteOptions, writeOptions } from './params.ts';
import { patch } from './patch.ts';
import { shown } from './render.ts';
import type { Target } from './route.ts';
import type { Server } from './server.ts';
import { single } from './single.ts';

/** Handles get, update, patch and delete of one object; returns undefined for other methods. */
export function object(server: Server, request: ApiRequest, target: Target): Response | undefined {
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

export function got(
  server: Server,
  request: ApiRequest,
  { of, namespace, name }: Target,
): Response {
  const found = server.registry.store.get(of.resource, namespace, name);
  return found === undefined
    ? failed(notFound(named(of), name))
    : answer(single(server, request, of, found));
}

export function put(
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
