import { type Notes, noNotes } from '../core/phase/picture.ts';
import type { Problem } from '../core/phase/report.ts';

/** What lies on the desk for one node. */
type Sheet = {
  readonly notes: Notes;
  /** Pods still to go at the last look: the fewer, the sooner the node has its turn. */
  readonly remaining: number;
  /** Failed passes in a row. */
  readonly failures: number;
  readonly trouble?: Problem;
};

const blank: Sheet = { notes: noNotes, remaining: 0, failures: 0 };

/** First and longest pause after a failure, in seconds. */
const pauses = {
  conflict: { first: 0.02, longest: 5 },
  refused: { first: 0.5, longest: 60 },
  defect: { first: 1, longest: 300 },
} as const;

/** What is remembered of each node between two looks. Losing it costs calls, never safety. */
export class Desk {
  readonly #sheets = new Map<string, Sheet>();

  of(nodeName: string): Sheet {
    return this.#sheets.get(nodeName) ?? blank;
  }

  note(nodeName: string, notes: Notes, remaining: number): void {
    this.#sheets.set(nodeName, { ...this.of(nodeName), notes, remaining });
  }

  succeeded(nodeName: string): void {
    const { trouble: _trouble, ...sheet } = this.of(nodeName);
    if (this.#sheets.has(nodeName)) this.#sheets.set(nodeName, { ...sheet, failures: 0 });
  }

  /** Answers after how many seconds to try again. A refusal is remembered, to be told to those who wait. */
  failed(nodeName: string, why: keyof typeof pauses, message?: string): number {
    const sheet = this.of(nodeName);
    const { first, longest } = pauses[why];
    const trouble = message === undefined ? undefined : { reason: 'WriteRefused', message: `cannot write: ${message}` };
    this.#sheets.set(nodeName, { ...sheet, failures: sheet.failures + 1, ...(trouble && { trouble }) });
    return Math.min(first * 2 ** Math.min(sheet.failures, 20), longest);
  }

  /** How many blockers there are at the moment, by cause. */
  blockers(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { notes } of this.#sheets.values()) {
      for (const id of notes.blockedSince.keys()) {
        const cause = id.slice(0, id.indexOf(' '));
        counts.set(cause, (counts.get(cause) ?? 0) + 1);
      }
    }
    return counts;
  }

  forget(nodeName: string): void {
    this.#sheets.delete(nodeName);
  }
}
