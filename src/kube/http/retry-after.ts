import type { ApiResponse } from '../../operator/ports.ts';

/** A server that asks for more than this is not believed: somebody's clock or unit is wrong. */
const longestMs = 60_000;

/**
 * How long the whole client should hold back, in milliseconds; undefined when the answer asks for nothing of the kind.
 *
 * - 503 with Retry-After: the server is going down, or not up yet.
 * - 429 with Retry-After from priority & fairness or max-in-flight, which is plain text.
 *
 * A 429 that is a Status is about what was asked for: a PodDisruptionBudget, one kind whose storage is not ready (for up to 30 s, and again each time: everybody else's work
 * must not wait for it), a resource version that is too new. So is an admission webhook's refusal. Rule: k8s.io/apiserver pkg/server/filters/maxinflight.go and
 * priority-and-fairness.go against pkg/storage/cacher/cacher.go and k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go.
 */
export const pauseAsked = (response: ApiResponse, now: Temporal.Instant): number | undefined => {
  if (response.status !== 429 && response.status !== 503) return undefined;
  if (response.status === 429 && !isAboutAll(response.body)) return undefined;
  return retryAfterMs(response.headers['retry-after'], now);
};

const isAboutAll = (body: unknown): boolean => typeof body === 'string' && !body.startsWith('admission webhook');

/** The header `Retry-After` (RFC 9110, seconds or a date) in milliseconds, at most 60,000; undefined when there is none to be understood. */
export const retryAfterMs = (header: string | undefined, now: Temporal.Instant): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const wait = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now.epochMilliseconds;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), longestMs);
};
