/**
 * Returns a text as one segment of a URL's path. Names come from others: half a surrogate pair,
 * which no URL can have, becomes U+FFFD, as in the API server's own JSON.
 */
export function pathSegment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
