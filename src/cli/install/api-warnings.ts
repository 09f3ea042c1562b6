/**
 * Warnings of the API server in the header `Warning` of an answer, as kubectl prints them: `299 - "TEXT"`, several with commas between (RFC 7234 section 5.5; client-go: net.ParseWarningHeaders).
 * What is not of this shape is left out.
 */
export const apiWarnings = (header: string | undefined): readonly string[] =>
  [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
