import { fail } from '../failure.ts';

/** Returns whether a character, by its code point, is in a class. */
export type CharacterTest = (code: number) => boolean;

/** Named ASCII classes, as ranges. */
const ranges: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>> = {
  d: [[48, 57]],
  s: [
    [9, 10],
    [12, 13],
    [32, 32],
  ],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  alnum: [
    [48, 57],
    [65, 90],
    [97, 122],
  ],
  alpha: [
    [65, 90],
    [97, 122],
  ],
  ascii: [[0, 127]],
  blank: [
    [9, 9],
    [32, 32],
  ],
  cntrl: [
    [0, 31],
    [127, 127],
  ],
  digit: [[48, 57]],
  graph: [[33, 126]],
  lower: [[97, 122]],
  print: [[32, 126]],
  punct: [
    [33, 47],
    [58, 64],
    [91, 96],
    [123, 126],
  ],
  space: [
    [9, 13],
    [32, 32],
  ],
  upper: [[65, 90]],
  word: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  xdigit: [
    [48, 57],
    [65, 70],
    [97, 102],
  ],
};

function quoted(code: number): string {
  return `\\u{${code.toString(16)}}`;
}

/** Classes with K and S, which have a third form each outside of ASCII when case is ignored. */
const folded: ReadonlySet<string> = new Set(['w', 'alnum', 'alpha', 'lower', 'upper', 'word']);
const thirdForms = [
  [0x17f, 0x17f],
  [0x212a, 0x212a],
] as const;

/**
 * Returns \d, \D, [:alpha:], [:^alpha:] as members of a JavaScript class; undefined for unknown
 * names.
 */
export function perl(name: string, ignoresCase: boolean): string | undefined {
  const [, caret, posix] = /^\[:(\^?)(\w+):\]$/.exec(name) ?? [];
  const isNegated = caret === '^' || /^[DSW]$/.test(name);
  const key = posix ?? name.toLowerCase();
  const found = Object.hasOwn(ranges, key) ? ranges[key] : undefined;
  if (found === undefined) return undefined;
  if (!isNegated) return found.map(([first, last]) => `${quoted(first)}-${quoted(last)}`).join('');
  const all = ignoresCase && folded.has(key) ? [...found, ...thirdForms] : found;
  let [next, rest] = [0, ''];
  for (const [first, last] of all) {
    if (first > next) rest += `${quoted(next)}-${quoted(first - 1)}`;
    next = last + 1;
  }
  return `${rest}${quoted(next)}-${quoted(0x10ffff)}`;
}

/** Returns \pL, \p{Greek}, \P{^Lu}: general categories and scripts. */
export function unicodeClass(name: string, isNegated: boolean): string {
  const [key, sign] = name.startsWith('^') ? [name.slice(1), !isNegated] : [name, isNegated];
  const candidates = key === 'Any' ? ['Any'] : key.length <= 2 ? [`gc=${key}`] : [`sc=${key}`];
  const [known] = candidates.filter(isKnown);
  return known === undefined
    ? fail('error parsing regexp: invalid character class range: `\\p{' + name + '}`')
    : `\\${sign ? 'P' : 'p'}{${known}}`;
}

function isKnown(property: string): boolean {
  try {
    return new RegExp(`\\p{${property}}`, 'u').source !== '';
  } catch {
    return false;
  }
}

/**
 * Returns a test for a class. The members are those of a JavaScript class, which is matched with
 * one character at a time and so never backtracks.
 */
export function classOf(members: string, ignoresCase: boolean): CharacterTest {
  const [, only] = /^\\u\{([0-9a-f]+)\}$/.exec(members) ?? [];
  const alone =
    only === undefined ||
    (ignoresCase && /[a-z]/i.test(String.fromCodePoint(Number.parseInt(only, 16))))
      ? undefined
      : Number.parseInt(only, 16);
  if (alone !== undefined && (!ignoresCase || alone < 128)) return code => code === alone;
  const pattern = new RegExp(`^[${members}]$`, ignoresCase ? 'iu' : 'u');
  // Nearly all text is ASCII.
  const ascii: (boolean | undefined)[] = [];
  return code => {
    if (code >= 128) return pattern.test(String.fromCodePoint(code));
    ascii[code] ??= pattern.test(String.fromCharCode(code));
    return ascii[code];
  };
}
