import { isObject, type Json, type JsonObject, mergePatch } from './json.ts';
import { printableLines } from './printable.ts';

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
function nameInPath(text: string): string {
  const bounded = text.length > maxLength ? `${text.slice(0, maxLength - 1)}${replacement}` : text;
  const name = bounded.toWellFormed().replaceAll(/[/%]/g, replacement);
  return /^\.{0,2}$/.test(name) ? replacement : name;
}

/** Returns a name as one segment of a URL's path. */
export function pathSegment(name: string): string {
  return encodeURIComponent(nameInPath(name));
}

/**
 * Returns the message of a metav1.Status in a response, for people; the code if there is no
 * message.
 */
export function statusMessage({
  status,
  body,
}: {
  readonly status: number;
  readonly body: unknown;
}): string {
  const text =
    isObject(body) && typeof body['message'] === 'string'
      ? body['message']
      : typeof body === 'string'
        ? body
        : '';
  return text === '' ? `the API server responded with ${status}` : text;
}

/**
 * Reports whether the API server confirms that the object with this name does not exist: a path
 * that is not served, or a proxy in between, does not confirm it.
 */
export function isMissing(
  name: string,
  { status, body }: { readonly status: number; readonly body: unknown },
): boolean {
  const details = isObject(body) ? body['details'] : undefined;
  return status === 404 && isObject(details) && details['name'] === nameInPath(name);
}

/** Returns the value with all texts made printable; the same value if they are already. */
function printableTexts(value: Json): Json {
  if (typeof value === 'string') return printableLines(value);
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).map(printableTexts);
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | undefined;
  for (const [key, member] of Object.entries(value)) {
    const shown = member === undefined ? undefined : printableTexts(member);
    if (shown !== member) (changed ??= { ...value })[key] = shown;
  }
  return changed ?? value;
}

/**
 * Returns the merge patch for a status; undefined if nothing differs. Messages quote servers,
 * containers and people: stored text acts on no terminal.
 */
export function statusChange(before: JsonObject, wanted: JsonObject): JsonObject | undefined {
  return mergePatch(before, printableTexts(wanted) as JsonObject);
}

/** Reports whether the status contains the text, as it is stored. */
export function saysText(status: Json | undefined, text: string): boolean {
  if (typeof status === 'string') return status === printableLines(text);
  return (
    typeof status === 'object' &&
    status !== null &&
    Object.values(status).some(member => saysText(member, text))
  );
}

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
