import type { Problem } from '../../core/maintenance/report.ts';
import { type Notes, noNotes } from '../../core/maintenance/snapshot.ts';
import type { Overview } from '../ports.ts';

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

/** First and longest pause after a lost race, in seconds. */
const pause = { first: 0.02, longest: 5 };

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

  /** A refused write is remembered, to be told to those who wait. */
  refused(nodeName: string, message: string): void {
    this.#sheets.set(nodeName, { ...this.of(nodeName), trouble: { reason: 'WriteRefused', message: `cannot write: ${message}` } });
  }

  /** What was to be said of this request has not been stored: it is as if it had not been said. */
  unsaid(nodeName: string, requestKey: string): void {
    const sheet = this.of(nodeName);
    const reported = new Map([...sheet.notes.reported].filter(([key]) => key !== requestKey));
    this.#sheets.set(nodeName, { ...sheet, notes: { ...sheet.notes, reported } });
  }

  /** Answers after how many seconds to try again. */
  failed(nodeName: string): number {
    const sheet = this.of(nodeName);
    this.#sheets.set(nodeName, { ...sheet, failures: sheet.failures + 1 });
    return Math.min(pause.first * 2 ** Math.min(sheet.failures, 20), pause.longest);
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

  /** How many VMs there are in which state, on the nodes that are worked on. */
  vms(): Overview['vms'] {
    const all = [...this.#sheets.values()].flatMap(({ notes }) => [...(notes.vms?.vms.values() ?? [])]);
    return [...Map.groupBy(all, ({ platform, state }) => `${platform} ${state}`)].map(([key, vms]) => {
      const [platform = '', state = ''] = key.split(' ');
      return { platform, state, count: vms.length };
    });
  }

  forget(nodeName: string): void {
    this.#sheets.delete(nodeName);
  }
}
