import { isObject, type JsonObject } from '@drydock/apimachinery';
import { type ApiRequest, answer, failed, type Response } from '../api/message.ts';
import { badRequest } from '../failure.ts';
import { items, part, text } from '../object.ts';
import type { Store } from '../store/store.ts';
import type { RequestAttributes } from './asked.ts';
import { authorize } from './authorize.ts';

/**
 * SubjectAccessReview: checks the rights of another user. Upstream:
 * pkg/registry/authorization/subjectaccessreview.
 */

function askedIn(spec: JsonObject): RequestAttributes {
  const path = part(spec, 'nonResourceAttributes');
  if (Object.keys(path).length > 0)
    return { kind: 'path', verb: text(path, 'verb'), path: text(path, 'path') };
  const of = part(spec, 'resourceAttributes');
  const [verb, group, resource, subresource] = [
    text(of, 'verb'),
    text(of, 'group'),
    text(of, 'resource'),
    text(of, 'subresource'),
  ];
  return {
    kind: 'resource',
    verb,
    group,
    resource,
    subresource,
    namespace: text(of, 'namespace'),
    name: text(of, 'name'),
  };
}

/** Handles a review, without storing it. */
export function review(store: Store, { body }: ApiRequest): Response {
  const sent = body.kind === 'json' && isObject(body.value) ? body.value : undefined;
  if (sent === undefined) return failed(badRequest('a SubjectAccessReview is expected'));
  const spec = part(sent, 'spec');
  const user = { name: text(spec, 'user'), groups: items(spec['groups']).map(String) };
  const allowed = authorize(store, user, askedIn(spec)) === undefined;
  return answer({ ...sent, status: { allowed } }, 201);
}
