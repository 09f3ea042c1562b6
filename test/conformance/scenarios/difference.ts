import type { Normal } from '../normal.ts';

/** A value as lines of `path: text`, one for each leaf. */
function lines(value: Normal, path = ''): readonly string[] {
  if (Array.isArray(value))
    return value.length === 0
      ? [`${path}: []`]
      : value.flatMap((one: Normal, index) => lines(one, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [`${path}: ${JSON.stringify(value)}`];
  const members = Object.entries(value);
  return members.length === 0
    ? [`${path}: {}`]
    : members.flatMap(([key, one]) => lines(one, path === '' ? key : `${path}.${key}`));
}

const limit = 60;

/** What stands only here (`+`) and only there (`-`); empty when both say the same. */
export function differenceOf(got: Normal, wanted: Normal): string {
  const [here, there] = [lines(got), lines(wanted)];
  const [ours, theirs] = [new Set(here), new Set(there)];
  const found = [
    ...here.filter(line => !theirs.has(line)).map(line => `+ ${line}`),
    ...there.filter(line => !ours.has(line)).map(line => `- ${line}`),
  ];
  const sorted = found.toSorted((one, other) => (one.slice(2) < other.slice(2) ? -1 : 1));
  return [
    ...sorted.slice(0, limit),
    ...(sorted.length > limit ? [`and ${sorted.length - limit} more`] : []),
  ].join('\n');
}
