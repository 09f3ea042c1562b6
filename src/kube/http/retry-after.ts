import type { ApiResponse } from '../../operator/ports.ts';

/** A server that asks for more than this is not believed: somebody's clock or unit is wrong. */
const maxMs = 60_000;

/**
 * How long the whole client should hold back, in milliseconds; undefined when the answer asks for nothing of the kind.
 *
 * - 429 with Retry-After in plain text: priority & fairness, or max-in-flight.
 * - 503 with Retry-After in plain text: what stands before the server.
 *
 * Nobody waits for a server that goes down: it closes the connection with its 429, and the next one is to another server, where there is one.
 * A Status is about what was asked for, and nobody else has to wait for that: a PodDisruptionBudget, one kind whose storage is not ready (for up to 30 s, and again each
 * time), a resource version that is too new, a path that a server which has just started does not serve yet (503, for 5 s, while it serves nodes and asks webhooks already). So is an
 * admission webhook's refusal. Rule: k8s.io/apiserver pkg/server/filters/maxinflight.go, priority-and-fairness.go and with_retry_after.go against
 * pkg/storage/cacher/cacher.go, pkg/util/notfoundhandler/not_found_handler.go and k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go.
 */
export const pauseAsked = (response: ApiResponse, now: Temporal.Instant): number | undefined => {
  const { status, body, headers } = response;
  const goesDown = status === 429 && headers['connection'] === 'close';
  return (status === 429 || status === 503) && !goesDown && isAboutAll(body) ? retryAfterMs(headers['retry-after'], now) : undefined;
};

const isAboutAll = (body: unknown): boolean => typeof body === 'string' && !body.startsWith('admission webhook');

/** The header `Retry-After` (RFC 9110, seconds or a date) in milliseconds, at most 60,000; undefined when there is none to be understood. */
export const retryAfterMs = (header: string | undefined, now: Temporal.Instant): number | undefined => {
  if (header === undefined || header.trim() === '') return undefined;
  const wait = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now.epochMilliseconds;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), maxMs);
};
