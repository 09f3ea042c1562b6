/** Stands for what no name has, as in the API server's own JSON: no object has it in its name. */
const replacement = '\ufffd';

/** Limit of a name (DNS1123SubdomainMaxLength). A server refuses paths that are too long. */
const maxLength = 253;

/**
 * Returns a name as the API server reads it from a path. Names come from others: an owner reference
 * or the claim of a volume has any text in it. No object has a name that is empty, `.` or `..`, or
 * has a `/` or a `%` in it (IsValidPathSegmentName of k8s.io/apimachinery): each would lead to
 * another path, encoded too, because servers decode a path before they split it. No URL has half a
 * surrogate pair in it. U+FFFD replaces all of that, so that the server reports that there is no
 * such object, as for any other name that is not there.
 */
export function nameInPath(text: string): string {
  const bounded = text.length > maxLength ? `${text.slice(0, maxLength - 1)}${replacement}` : text;
  const name = bounded.toWellFormed().replaceAll(/[/%]/g, replacement);
  return /^\.{0,2}$/.test(name) ? replacement : name;
}

/** Returns a name as one segment of a URL's path. */
export function pathSegment(name: string): string {
  return encodeURIComponent(nameInPath(name));
}
