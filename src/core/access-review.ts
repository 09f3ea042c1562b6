import { isObject, type JsonObject } from './json.ts';
import { statusMessage } from './status.ts';

/** Who asks and what may be done: questions that the API server answers and keeps nothing of. */
const groups = {
  TokenReview: 'authentication.k8s.io',
  SubjectAccessReview: 'authorization.k8s.io',
  SelfSubjectAccessReview: 'authorization.k8s.io',
} as const;

export type ReviewKind = keyof typeof groups;

/** The call that asks the API server. */
export const reviewCall = (kind: ReviewKind, spec: JsonObject) => {
  const apiVersion = `${groups[kind]}/v1`;
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  return { method: 'POST', path, body: { apiVersion, kind, spec }, timeoutMs: 10_000 } as const;
};

/** The status that the API server gave the review; a text says why there is none. */
export const reviewed = (response: { readonly status: number; readonly body: unknown }): JsonObject | string => {
  const status = isObject(response.body) ? response.body['status'] : undefined;
  return response.status === 201 && isObject(status) ? status : statusMessage(response);
};
