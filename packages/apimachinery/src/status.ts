import { isObject, type Json, type JsonObject, mergePatch } from './json.ts';
import { nameInPath } from './path-segment.ts';
import { printableLines } from './printable.ts';

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
