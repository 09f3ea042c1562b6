import { isObject, type JsonObject } from '@drydock/apimachinery';
import {
  badRequest,
  type Failure,
  invalid,
  notFound,
  unnamed,
  unsupportedMediaType,
  wrong,
} from '../failure.ts';
import { type Kind, named } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import { type Draft, objects, type Stored, text } from '../object.ts';
import { applyJsonPatch, applyMergePatch } from '../patch/json-patch.ts';
import { applyStrategic } from '../patch/strategic.ts';
import { apply } from '../registry/create.ts';
import type { Edit } from '../registry/managed.ts';
import { change } from '../registry/update.ts';
import { mismatch } from './body.ts';
import { type ApiRequest, answer, failed, type Response, type Target } from './message.ts';
import { shown } from './render.ts';
import { isYes, managerOf, type Server, single, writeOptions } from './server.ts';

/** Kinds of patches. */
type PatchKind = 'json' | 'merge' | 'strategic' | 'apply';

const types: Readonly<Record<string, PatchKind | undefined>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

function accepted(kind: Kind): readonly string[] {
  return Object.keys(types).filter(type => kind.shape.kind === 'go' || types[type] !== 'strategic');
}

export function patchKind(request: ApiRequest, kind: Kind): PatchKind | Failure {
  const type = request.contentType.split(';')[0]?.trim() ?? '';
  const found = types[type];
  if (found === undefined) return unsupportedMediaType('415: Unsupported Media Type', {});
  if (kind.shape.kind === 'go' || found !== 'strategic') return found;
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted(kind).join(', ')}`,
  );
}

type Applied = ReturnType<Edit>;

function refuse(failure: Failure): Applied {
  return { kind: 'refused', failure };
}

/**
 * Returns the error for a patch that cannot be applied: 422 for an operation, 400 for an invalid
 * patch.
 */
function unprocessable(message: string): Failure {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'Invalid',
    details: {},
    code: 422,
  };
}

/** Applies a patch of any kind but `apply` to a document. */
export function patched(
  kind: Exclude<PatchKind, 'apply'>,
  of: Kind,
  document: JsonObject,
  { body }: ApiRequest,
): Applied {
  if (body.kind !== 'json')
    return refuse(
      badRequest(
        `error decoding patch: ${body.kind === 'unreadable' ? body.why : 'unexpected end of JSON input'}`,
      ),
    );
  const { value } = body;
  if (kind === 'json') {
    if (!Array.isArray(value))
      return refuse(
        badRequest(
          'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
        ),
      );
    const result = applyJsonPatch(document, objects(value));
    return result.kind === 'failed'
      ? refuse(unprocessable(`the server rejected our request due to an error in our request`))
      : { kind: 'edited', draft: result.value };
  }
  if (!isObject(value))
    return refuse(
      badRequest(
        'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
      ),
    );
  if (kind === 'merge' || of.shape.kind === 'schema')
    return { kind: 'edited', draft: applyMergePatch(document, value) };
  const result = applyStrategic(document, value, of.shape.struct);
  return result.kind === 'failed'
    ? refuse(unnamed(500, result.message))
    : { kind: 'edited', draft: result.value };
}

/**
 * Returns the error for a patched object that cannot be read, or has another kind: 422, with the
 * whole document in the message.
 */
function unreadable(kind: Kind, draft: Draft, kinds: KindTable): Failure | undefined {
  const [version, own] = [text(draft, 'apiVersion'), text(draft, 'kind')];
  const read = kind.read(draft);
  const why =
    mismatch(version, own, kind, kinds) ?? (read.kind === 'unreadable' ? read.message : undefined);
  if (why === undefined) return undefined;
  return invalid({ group: '', resource: '' }, '', [wrong('patch', JSON.stringify(draft), why)]);
}

/** Handles PATCH of an object or its status. */
export function patch(server: Server, request: ApiRequest, target: Target): Response {
  const { of, namespace, name, subresource } = target;
  const kind = patchKind(request, of);
  if (typeof kind !== 'string') return failed(kind);
  const options = writeOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const part = subresource === 'status' ? ({ subresource: 'status' } as const) : {};
  if (kind === 'apply') return applied(server, request, target);
  if (server.registry.store.get(of.resource, namespace, name) === undefined)
    return failed(notFound(named(of), name));
  const edit = (current: Stored): Applied => {
    const result = patched(kind, of, shown(of, current), request);
    if (result.kind === 'refused') return result;
    const failure = unreadable(of, result.draft, server.registry.kinds);
    return failure === undefined ? result : refuse(failure);
  };
  const outcome = change(server.registry, of, namespace, name, edit, {
    ...options.value,
    ...part,
    patched: true,
  });
  return outcome.kind === 'refused'
    ? failed(outcome.failure, outcome.warnings)
    : answer(single(server, request, of, outcome.object), 200, outcome.warnings);
}

function applied(
  server: Server,
  request: ApiRequest,
  { of, namespace, name, subresource }: Target,
): Response {
  const { body, query } = request;
  if (body.kind !== 'json' || !isObject(body.value))
    return failed(badRequest('error decoding YAML: the body is no object'));
  const manager = query.get('fieldManager');
  if (manager === undefined || manager === '') return failed(managerMissing());
  const options = writeOptions(request);
  if (options.kind === 'refused') return failed(options.failure);
  const outcome = apply(server.registry, of, { namespace, name }, body.value, {
    ...options.value,
    manager: managerOf(request),
    force: isYes(query.get('force')),
    ...(subresource === 'status' ? { subresource: 'status' } : {}),
  });
  if (outcome.kind === 'refused') return failed(outcome.failure, outcome.warnings);
  return answer(
    single(server, request, of, outcome.object),
    outcome.created ? 201 : 200,
    outcome.warnings,
  );
}

function managerMissing(): Failure {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    reason: 'Invalid',
    details: {
      group: 'meta.k8s.io',
      kind: 'PatchOptions',
      causes: [
        {
          reason: 'FieldValueRequired',
          message: 'Required value: is required for apply patch',
          field: 'fieldManager',
        },
      ],
    },
    code: 422,
  };
}
