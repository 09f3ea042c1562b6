import { isObject, type JsonObject } from '../core/json.ts';
import { saidBy } from '../core/status.ts';
import type { WebhookKind } from '../generations/admission.ts';
import { type Right, rightsFor, withoutRight } from '../generations/consent.ts';
import type { Api } from '../operator/ports.ts';
import { textOf } from './live.ts';
import { allowed, denied, type Review, type Verdict } from './review.ts';

/** Whether whoever writes an object has the rights for what it says (SubjectAccessReview, authorization.k8s.io/v1). */

const reviewPath = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

const bodyFor = ({ group, resource }: WebhookKind, { user, namespace }: Review, right: Right): JsonObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  spec: {
    user: user['username'],
    uid: user['uid'],
    groups: user['groups'],
    extra: user['extra'],
    resourceAttributes: { group, resource, verb: right, namespace },
  },
});

const ask = async (api: Api, kind: WebhookKind, review: Review, right: Right, signal: AbortSignal): Promise<Verdict> => {
  const unknown = (why: string): Verdict =>
    denied(`could not ask whether you have the right ${right} on ${kind.name}, please try again: ${why}`);
  try {
    const answer = await api.call({ method: 'POST', path: reviewPath, body: bodyFor(kind, review, right) }, signal);
    const status = isObject(answer.body) ? answer.body['status'] : undefined;
    if (answer.status !== 201 || !isObject(status)) return unknown(saidBy(answer));
    return status['allowed'] === true ? allowed : denied(withoutRight(right, kind));
  } catch (error) {
    return unknown(textOf(error));
  }
};

/** Asks for the rights that the write needs, one after the other. Never rejects; what cannot be asked is denied. */
export const consent = async (api: Api, kind: WebhookKind, review: Review, signal: AbortSignal): Promise<Verdict> => {
  const { object, oldObject, subresource, operation } = review;
  if (object === undefined || subresource !== '') return allowed;
  for (const right of rightsFor(kind.resource, object, operation === 'UPDATE' ? oldObject : undefined)) {
    const verdict = await ask(api, kind, review, right, signal);
    if (verdict.kind === 'denied') return verdict;
  }
  return allowed;
};
