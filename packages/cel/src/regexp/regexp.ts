import { type CostMeter, fail } from '../failure.ts';
import { type CharacterTest, classOf, perl, unicodeClass } from './character-class.ts';

/**
 * A regular expression in the syntax of RE2, without back references and lookahead. Upstream: Go's
 * regexp/syntax.
 */
type Pattern =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence' | 'alternatives'; readonly parts: readonly Pattern[] }
  | {
      readonly kind: 'repeat';
      readonly of: Pattern;
      readonly least: number;
      readonly most: number;
    };

/** Begin and end of the text or of a line, and word boundaries. */
type Assertion = 'text begin' | 'text end' | 'line begin' | 'line end' | 'word' | 'no word';

type Flags = { readonly i: boolean; readonly m: boolean; readonly s: boolean };

const deepest = 200;
const maxRepeats = 1000;
const controls: Readonly<Record<string, string>> = {
  a: '\x07',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const asserted: Readonly<Record<string, Assertion>> = {
  A: 'text begin',
  z: 'text end',
  b: 'word',
  B: 'no word',
};

function wrong(what: string): never {
  return fail(`error parsing regexp: ${what}`);
}

class PatternParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  readonly #names = new Set<string>();
  #flags: Flags = { i: false, m: false, s: false };

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Pattern {
    const all = this.#alternatives();
    return this.#at < this.#text.length ? wrong('unexpected ): `' + this.#text + '`') : all;
  }

  #takes(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at += found[0].length;
    return found;
  }

  /** Parses alternatives; flags set in a group hold until its end. */
  #alternatives(): Pattern {
    const flags = this.#flags;
    this.#depth += 1;
    if (this.#depth > deepest) return wrong('expression nests too deeply');
    const parts = [this.#sequence()];
    while (this.#takes(/\|/y) !== undefined) parts.push(this.#sequence());
    this.#depth -= 1;
    this.#flags = flags;
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: 'alternatives', parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text.charAt(this.#at))) {
      const part = this.#verbatim(parts) ?? this.#atom();
      if (part !== undefined) parts.push(this.#repeated(part));
    }
    return { kind: 'sequence', parts };
  }

  #repeated(of: Pattern): Pattern {
    const found = this.#takes(/([*+?])\??|\{(\d{1,5})(,(\d{0,5}))?\}\??/y);
    if (found === undefined) return of;
    if (this.#takes(/[*+?]|\{\d+(?:,\d*)?\}/y) !== undefined)
      return wrong('invalid nested repetition operator');
    const [, sign, low = '0', range, high = ''] = found;
    if (sign !== undefined)
      return { kind: 'repeat', of, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity };
    const least = Number(low);
    const most = range === undefined ? least : high === '' ? Infinity : Number(high);
    const isTooMany = least > maxRepeats || (most !== Infinity && most > maxRepeats);
    if (isTooMany || most < least) return wrong('invalid repeat count: `' + found[0] + '`');
    return { kind: 'repeat', of, least, most };
  }

  /** Parses \Q…\E: a following repetition applies only to the last character, which is returned. */
  #verbatim(parts: Pattern[]): Pattern | undefined {
    const text = this.#takes(/\\Q([^]*?)(?:\\E|$)/y)?.[1];
    const all = Array.from(text ?? '', one => this.#character(quoted(one.codePointAt(0) ?? 0)));
    const last = all.pop();
    parts.push(...all);
    return last;
  }

  /** Parses an atom; returns undefined for flags, which match nothing themselves. */
  #atom(): Pattern | undefined {
    if (this.#takes(/\(/y) !== undefined) return this.#group();
    if (this.#takes(/\[/y) !== undefined) return this.#character(this.#set());
    if (this.#takes(/\./y) !== undefined)
      return this.#character(
        this.#flags.s ? '\\u{0}-\\u{10ffff}' : '\\u{0}-\\u{9}\\u{b}-\\u{10ffff}',
      );
    if (this.#takes(/\^/y) !== undefined)
      return { kind: 'assertion', assertion: this.#flags.m ? 'line begin' : 'text begin' };
    if (this.#takes(/\$/y) !== undefined)
      return { kind: 'assertion', assertion: this.#flags.m ? 'line end' : 'text end' };
    const special = this.#takes(/\\([AzbB])/y)?.[1];
    if (special !== undefined) return { kind: 'assertion', assertion: asserted[special] ?? 'word' };
    if (this.#takes(/[*+?]|\{\d+(?:,\d*)?\}/y) !== undefined)
      return wrong('missing argument to repetition operator');
    return this.#character(this.#shorthand() ?? quoted(this.#single()));
  }

  #character(members: string): Pattern {
    return { kind: 'character', test: classOf(members, this.#flags.i) };
  }

  #group(): Pattern | undefined {
    const flags = this.#takes(/\?([imsU]*)(?:-([imsU]+))?([:)])/y);
    const outer = this.#flags;
    if (flags !== undefined) {
      const [, on = '', off = '', end] = flags;
      const value = (flag: 'i' | 'm' | 's'): boolean =>
        (outer[flag] || on.includes(flag)) && !off.includes(flag);
      this.#flags = { i: value('i'), m: value('m'), s: value('s') };
      if (end === ')') return undefined;
    } else this.#name();
    const inner = this.#alternatives();
    this.#flags = outer;
    return this.#takes(/\)/y) === undefined
      ? wrong('missing closing ): `' + this.#text + '`')
      : { kind: 'sequence', parts: [inner] };
  }

  /** Parses `?P<name>`: names have no effect, but must be unique. */
  #name(): void {
    const name = this.#takes(/\?P?<(\w+)>/y)?.[1];
    if (name === undefined && this.#takes(/\?/y) !== undefined)
      wrong('invalid or unsupported Perl syntax: `(?`');
    if (name !== undefined && this.#names.has(name))
      wrong('duplicate capture group name: `' + name + '`');
    if (name !== undefined) this.#names.add(name);
  }

  /** Parses \d and the like, as members of a class. */
  #shorthand(): string | undefined {
    const letter = this.#takes(/\\([dDsSwW])/y)?.[1];
    if (letter !== undefined) return perl(letter, this.#flags.i);
    const [, negated, short, long] = this.#takes(/\\([pP])(?:([A-Z])|\{(\^?\w+)\})/y) ?? [];
    return negated === undefined ? undefined : unicodeClass(short ?? long ?? '', negated === 'P');
  }

  /** Parses one character, escaped or not, to its code point. */
  #single(): number {
    const hex = this.#takes(/\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/y);
    if (hex !== undefined) return valid(Number.parseInt(hex[1] ?? hex[2] ?? '', 16));
    const octal = this.#takes(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y)?.[1];
    if (octal !== undefined) return Number.parseInt(octal, 8);
    const [, letter] = this.#takes(/\\([^])/uy) ?? [];
    if (letter !== undefined) {
      if (/[0-9A-Za-z]/.test(letter) && controls[letter] === undefined)
        return wrong('invalid escape sequence: `\\' + letter + '`');
      return (controls[letter] ?? letter).codePointAt(0) ?? 0;
    }
    const character = this.#takes(/[^\\]/uy)?.[0];
    return character?.codePointAt(0) ?? wrong('trailing backslash at end of expression');
  }

  #set(): string {
    const isNegated = this.#takes(/\^/y) !== undefined;
    let members = '';
    // A bracket in the first position is literal.
    for (let isFirst = true; isFirst || this.#takes(/\]/y) === undefined; isFirst = false) {
      if (this.#at >= this.#text.length) return wrong('missing closing ]: `' + this.#text + '`');
      members += this.#posix() ?? this.#shorthand() ?? this.#range();
    }
    return isNegated ? `^${members}` : members;
  }

  #posix(): string | undefined {
    const [, negated, name = ''] = this.#takes(/\[:(\^?)(\w+):\]/y) ?? [];
    return negated === undefined
      ? undefined
      : (perl(`[:${negated}${name}:]`, this.#flags.i) ??
          wrong('invalid character class range: `[:' + name + ':]`'));
  }

  #range(): string {
    const first = this.#single();
    if (this.#takes(/-(?!\])/y) === undefined) return quoted(first);
    const last = this.#single();
    return last < first
      ? wrong('invalid character class range')
      : `${quoted(first)}-${quoted(last)}`;
  }
}

function valid(code: number): number {
  return code > 0x10ffff ? wrong('invalid escape sequence') : code;
}
function quoted(code: number): string {
  return `\\u{${code.toString(16)}}`;
}

/** Parses a regular expression. */
function patternOf(text: string): Pattern {
  return new PatternParser(text).whole();
}

/**
 * Matches regular expressions in time proportional to the text and to the pattern, as RE2 does: all
 * possible matches are followed at once (Thompson's construction), without backtracking.
 */

type Instruction =
  | { readonly kind: 'character'; readonly test: CharacterTest; readonly next: number }
  | { readonly kind: 'assertion'; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: 'split'; readonly next: number; other: number }
  | { readonly kind: 'match' };

/** Limits of a pattern: instructions with all repetitions expanded, and characters. */
const largest = 5000;
const maxLength = 10_000;

class Compiler {
  readonly program: Instruction[] = [{ kind: 'match' }];
  #visits = 0;

  #add(instruction: Instruction): number {
    this.program.push(instruction);
    return this.program.length - 1;
  }

  /** Adds the instructions of a pattern that continue at `next`, and returns their start. */
  place(pattern: Pattern, next: number): number {
    this.#visits += 1;
    if (this.#visits > largest) return fail('error parsing regexp: expression too large');
    switch (pattern.kind) {
      case 'character':
        return this.#add({ kind: 'character', test: pattern.test, next });
      case 'assertion':
        return this.#add({ kind: 'assertion', assertion: pattern.assertion, next });
      case 'sequence':
        return pattern.parts.reduceRight((after, part) => this.place(part, after), next);
      case 'alternatives':
        return pattern.parts
          .map(part => this.place(part, next))
          .reduceRight((other, begin) => this.#add({ kind: 'split', next: begin, other }));
      case 'repeat':
        return this.#repeat(pattern, next);
      default:
        return pattern satisfies never;
    }
  }

  #repeat(
    { of, least, most }: Extract<Pattern, { readonly kind: 'repeat' }>,
    next: number,
  ): number {
    let begin = next;
    if (most === Infinity) {
      const loop: Instruction = { kind: 'split', next, other: next };
      begin = this.#add(loop);
      loop.other = this.place(of, begin);
    } else
      for (let count = least; count < most; count += 1)
        begin = this.#add({ kind: 'split', next, other: this.place(of, begin) });
    for (let count = 0; count < least; count += 1) begin = this.place(of, begin);
    return begin;
  }
}

function isWord(code: number | undefined): boolean {
  return code !== undefined && code < 128 && /\w/.test(String.fromCharCode(code));
}

function holds(
  assertion: Assertion,
  before: number | undefined,
  after: number | undefined,
): boolean {
  switch (assertion) {
    case 'text begin':
      return before === undefined;
    case 'text end':
      return after === undefined;
    case 'line begin':
      return before === undefined || before === 10;
    case 'line end':
      return after === undefined || after === 10;
    case 'word':
      return isWord(before) !== isWord(after);
    case 'no word':
      return isWord(before) === isWord(after);
    default:
      return assertion satisfies never;
  }
}

/** Reached places in a program between two characters. */
class ThreadList {
  readonly #program: readonly Instruction[];
  readonly #reached: Uint8Array;
  /** Instructions that wait for a character. */
  readonly waiting: Extract<Instruction, { readonly kind: 'character' }>[] = [];
  isMatch = false;
  visits = 0;

  constructor(program: readonly Instruction[], reached: Uint8Array) {
    this.#program = program;
    this.#reached = reached.fill(0);
  }

  reach(start: number, before: number | undefined, after: number | undefined): void {
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (this.#reached[at] === 1) continue;
      this.#reached[at] = 1;
      this.visits += 1;
      const instruction = this.#program[at];
      if (instruction === undefined || instruction.kind === 'match') this.isMatch = true;
      else if (instruction.kind === 'character') this.waiting.push(instruction);
      else if (instruction.kind === 'split') open.push(instruction.other, instruction.next);
      else if (holds(instruction.assertion, before, after)) open.push(instruction.next);
    }
  }
}

/** Returns whether a part of the text matches. */
export function matches(text: string, source: string, meter: CostMeter): boolean {
  if (source.length > maxLength) return fail('error parsing regexp: expression too large');
  // Each character can be a class of its own, which takes time to build.
  meter.charge(5 * source.length);
  const compiler = new Compiler();
  const start = compiler.place(patternOf(source), 0);
  const { program } = compiler;
  meter.charge(program.length);
  const reached = new Uint8Array(program.length);
  let waiting: ThreadList['waiting'] = [];
  let before: number | undefined;
  for (let at = 0; at <= text.length; ) {
    const after = text.codePointAt(at);
    const front = new ThreadList(program, reached);
    for (const { next } of waiting) front.reach(next, before, after);
    front.reach(start, before, after);
    if (front.isMatch) return true;
    meter.charge((front.visits + program.length / 50) / 2);
    waiting = front.waiting.filter(({ test }) => after !== undefined && test(after));
    before = after;
    at += after !== undefined && after > 0xffff ? 2 : 1;
  }
  return false;
}
