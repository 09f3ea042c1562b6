/**
 * Returns the API server's warnings from the header `Warning` of a response, as kubectl prints
 * them: `299 - "TEXT"`, comma-separated (RFC 7234 section 5.5; client-go: net.ParseWarningHeaders).
 * Ignores text of another shape.
 */
export function apiWarnings(header: string | undefined): readonly string[] {
  return [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}
