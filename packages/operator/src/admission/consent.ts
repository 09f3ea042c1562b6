import type { JsonObject } from '@drydock/apimachinery';
import { reviewCall, reviewed } from '@drydock/apimachinery';
import type { WebhookKind } from '@drydock/apis/admission-rules';
import { type Right, rightsFor, withoutRight } from '@drydock/apis/admission-rules';
import type { Api } from '@drydock/kube-client';
import { errorText, isDefect } from '@drydock/utils';
import { type AdmissionVerdict, allowed, denied, type Review } from './review.ts';

/**
 * Checks whether the writer of an object has the rights for its contents (SubjectAccessReview,
 * authorization.k8s.io/v1).
 */

function specFor(
  { group, resource }: WebhookKind,
  { user, namespace }: Review,
  right: Right,
): JsonObject {
  return {
    user: user['username'],
    uid: user['uid'],
    groups: user['groups'],
    extra: user['extra'],
    resourceAttributes: { group, resource, verb: right, namespace },
  };
}

async function ask(
  api: Api,
  kind: WebhookKind,
  review: Review,
  right: Right,
  signal: AbortSignal,
): Promise<AdmissionVerdict> {
  const unknown = (why: string): AdmissionVerdict =>
    denied(
      `could not check whether you have the right ${right} on ${kind.name}, please try again: ${why}`,
    );
  try {
    const status = reviewed(
      await api.call(reviewCall('SubjectAccessReview', specFor(kind, review, right)), signal),
    );
    if (typeof status === 'string') return unknown(status);
    return status['allowed'] === true ? allowed : denied(withoutRight(right, kind));
  } catch (error) {
    if (isDefect(error)) throw error;
    return unknown(errorText(error));
  }
}

/**
 * Reviews the rights that the write needs, one after the other. A right that cannot be reviewed is
 * denied; rejects for defects only.
 */
export async function consent(
  api: Api,
  kind: WebhookKind,
  review: Review,
  signal: AbortSignal,
): Promise<AdmissionVerdict> {
  const { object, oldObject, subresource, operation } = review;
  if (object === undefined || subresource !== '') return allowed;
  for (const right of rightsFor(
    kind.resource,
    object,
    operation === 'UPDATE' ? oldObject : undefined,
  )) {
    const verdict = await ask(api, kind, review, right, signal);
    if (verdict.kind === 'denied') return verdict;
  }
  return allowed;
}
