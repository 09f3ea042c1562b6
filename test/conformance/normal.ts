/**
 * Takes out of answers what is different from one server to another and from one run to the next,
 * and nothing else.
 */

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g;

/** Members whose values are versions. */
const versions = new Set(['resourceVersion']);
/**
 * Members that are left out: the real server always keeps them, the embedded one from the first
 * apply on (docs/embedded.md).
 */
const dropped = new Set(['managedFields']);
/** Durations since something was made. */
const ages = /^(\d+[smhdy])+$/;

export type Normal =
  | null
  | boolean
  | number
  | string
  | readonly Normal[]
  | { readonly [key: string]: Normal };

/** A text without what differs from run to run. */
export function normalText(text: string): string {
  return text
    .replace(uuid, '<uid>')
    .replace(/(resourceVersion=)[1-9]\d*/g, '$1<version>')
    .replace(/(continue=)[\w%-]{20,}/g, '$1<continue>')
    .replace(time, '<time>')
    .replace(
      /(the ResourceVersion in the precondition \()\d+(\) does not match the ResourceVersion in record \()\d+/g,
      '$1<version>$2<version>',
    )
    .replace(/(too old resource version: )\d+ \(\d+\)/, '$1<version> (<version>)')
    .replace(/(Too large resource version: \d+, current: )\d+/, '$1<version>');
}

function ofMember(key: string, value: unknown): Normal {
  if (versions.has(key) && typeof value === 'string' && /^\d+$/.test(value)) return '<version>';
  if (key === 'continue' && typeof value === 'string' && value !== '') return '<continue>';
  if (key === 'cells' && Array.isArray(value)) {
    return value.map(cell =>
      typeof cell === 'string' && ages.test(cell) ? '<age>' : normal(cell),
    );
  }
  return key === 'causes' && Array.isArray(value) ? once(value) : normal(value);
}

/**
 * The real server names some causes twice or three times, because several of its checks find them.
 */
function once(causes: readonly unknown[]): readonly Normal[] {
  return [...new Map(causes.map(cause => [JSON.stringify(normal(cause)), normal(cause)])).values()];
}

/** The same value on every server that behaves alike. */
export function normal(value: unknown): Normal {
  if (typeof value === 'string') return normalText(value);
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== 'object' || value === null) return (value ?? null) as Normal;
  const entries = Object.entries(value).filter(
    ([key, one]) => !dropped.has(key) && one !== undefined,
  );
  // The order of members says nothing.
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [normalText(key), ofMember(key, one)]));
}
