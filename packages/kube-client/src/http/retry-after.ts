import type { ApiResponse } from '../api.ts';

/** Upper limit of a Retry-After in milliseconds: a longer one comes from a wrong clock or unit. */
const maxMs = 60_000;

/**
 * Returns how long the whole client should hold back, in milliseconds; undefined when the response
 * requests no such pause.
 *
 * - 429 with Retry-After in plain text: priority & fairness, or max-in-flight.
 * - 503 with Retry-After in plain text: a proxy or load balancer before the server.
 *
 * The client does not wait for a server that shuts down: that server closes the connection with its
 * 429, and the next connection goes to another server, if there is one. A Status concerns only the
 * requested object, so other calls do not wait: a PodDisruptionBudget, one kind whose storage is
 * not ready (for up to 30 s, and again each time), a resource version that is too new, a path that
 * a just started server does not serve yet (503, for 5 s, while it already serves nodes and calls
 * webhooks). The same holds for an admission webhook's denial. Rule: k8s.io/apiserver
 * pkg/server/filters/maxinflight.go, priority-and-fairness.go and with_retry_after.go against
 * pkg/storage/cacher/cacher.go, pkg/util/notfoundhandler/not_found_handler.go and k8s.io/kubernetes
 * pkg/registry/core/pod/storage/eviction.go.
 */
export function pauseAsked(response: ApiResponse, now: Temporal.Instant): number | undefined {
  const { status, body, headers } = response;
  const goesDown = status === 429 && headers['connection'] === 'close';
  return (status === 429 || status === 503) && !goesDown && isAboutAll(body)
    ? retryAfterMs(headers['retry-after'], now)
    : undefined;
}

function isAboutAll(body: unknown): boolean {
  return typeof body === 'string' && !body.startsWith('admission webhook');
}

/**
 * Returns the header `Retry-After` (RFC 9110, seconds or a date) in milliseconds, at most 60,000;
 * undefined when it is absent or invalid.
 */
export function retryAfterMs(
  header: string | undefined,
  now: Temporal.Instant,
): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const wait = /^\d+$/.test(header.trim())
    ? Number(header) * 1000
    : Date.parse(header) - now.epochMilliseconds;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), maxMs);
}
