import { isObject, type JsonObject } from './json.ts';
import { statusMessage } from './status.ts';

/** Reviews of tokens and access: the API server responds to them and stores nothing. */
const groups = {
  TokenReview: 'authentication.k8s.io',
  SubjectAccessReview: 'authorization.k8s.io',
  SelfSubjectAccessReview: 'authorization.k8s.io',
} as const;

export type ReviewKind = keyof typeof groups;

/** Returns the call of a review. */
export function reviewCall(kind: ReviewKind, spec: JsonObject) {
  const apiVersion = `${groups[kind]}/v1`;
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  return { method: 'POST', path, body: { apiVersion, kind, spec }, timeoutMs: 10_000 } as const;
}

/** Returns the status of a review from its response; a string is the reason why there is none. */
export function reviewed(response: {
  readonly status: number;
  readonly body: unknown;
}): JsonObject | string {
  const status = isObject(response.body) ? response.body['status'] : undefined;
  return response.status === 201 && isObject(status) ? status : statusMessage(response);
}
