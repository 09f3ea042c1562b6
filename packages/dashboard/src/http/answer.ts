import type { ServerResponse } from 'node:http';
import type { Asset } from '../assets.ts';

/**
 * Content security policy: scripts, styles and data from this origin only; nothing inline, no
 * frames, no embedding elsewhere.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const always = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** Sends data, which must not be cached. */
export function answerJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...always,
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(value));
}

/** Sends a file of the dashboard: the same for all users, and revalidated by its ETag. */
export function answerAsset(
  response: ServerResponse,
  asset: Asset,
  objectIndexTag: string | undefined,
  withBody: boolean,
): void {
  const headers = {
    ...always,
    'content-type': asset.type,
    'cache-control': 'no-cache',
    etag: asset.tag,
  };
  if (objectIndexTag === asset.tag) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  response.writeHead(200, { ...headers, 'content-length': asset.body.length });
  response.end(withBody ? asset.body : undefined);
}

/** Opens a stream of server-sent events. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, {
    ...always,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.flushHeaders();
}
