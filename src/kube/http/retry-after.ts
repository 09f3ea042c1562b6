import type { ApiResponse } from '../../operator/ports.ts';

/** A server that asks for more than this is not believed: somebody's clock or unit is wrong. */
const longestMs = 60_000;

type Status = {
  readonly message?: string;
  readonly details?: { readonly name?: string; readonly causes?: readonly { readonly reason?: string }[] };
};

/**
 * How long the whole client should hold back, in milliseconds; undefined when the answer asks for nothing of the kind.
 *
 * - 503 with Retry-After: the server is going down, or not up yet.
 * - 429 with Retry-After from priority & fairness or max-in-flight (plain text), or from storage that is starting (a Status about no object).
 *
 * A 429 about one object is that object's affair: a PodDisruptionBudget (Status with a cause, or with the object's name) or an admission
 * webhook's refusal. Rule: k8s.io/apiserver pkg/server/filters/maxinflight.go and priority-and-fairness.go against
 * k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go.
 */
export const pauseAsked = (response: ApiResponse, now: Temporal.Instant): number | undefined => {
  if (response.status !== 429 && response.status !== 503) return undefined;
  if (response.status === 429 && isAboutOneObject(response.body)) return undefined;
  return retryAfterMs(response.headers['retry-after'], now);
};

const isAboutOneObject = (body: unknown): boolean => {
  if (typeof body === 'string') return body.startsWith('admission webhook');
  if (typeof body !== 'object' || body === null) return false;
  const { message = '', details } = body as Status;
  return message.startsWith('admission webhook') || (details?.causes?.length ?? 0) > 0 || (details?.name ?? '') !== '';
};

/** The header `Retry-After` (RFC 9110, seconds or a date) in milliseconds, at most 60,000; undefined when there is none to be understood. */
export const retryAfterMs = (header: string | undefined, now: Temporal.Instant): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const wait = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now.epochMilliseconds;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), longestMs);
};
