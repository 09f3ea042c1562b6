import { type CostMeter, fail } from '../failure.ts';
import type { CharacterTest } from './character-class.ts';
import { type Assertion, type Pattern, patternOf } from './pattern.ts';

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
