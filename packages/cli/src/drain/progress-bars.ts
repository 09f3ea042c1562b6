import { printable } from '@drydock/apimachinery';
import { cutTo, displayWidth, padTo } from '@drydock/utils';
import type { Output } from '../shared/output.ts';
import type { Progress } from './node-drain.ts';

/** Limit of shown nodes: those with the most pods left. */
const maxLines = 12;
const barWidth = 24;

function bar(gone: number, all: number): string {
  const full = all === 0 ? 0 : Math.round((gone / all) * barWidth);
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`;
}

function lineOf({ nodeName, gone, all, terminating, waits }: Progress, nameWidth: number): string {
  const notes = [
    ...(terminating > 0 ? [`${terminating} terminating`] : []),
    ...(waits === '' ? [] : [`waits for ${waits}`]),
  ];
  return `${padTo(printable(nodeName), nameWidth)}  ${bar(gone, all)}  ${String(gone).padStart(String(all).length)}/${all}  ${notes.join(', ')}`.trimEnd();
}

/** Returns the progress of all running drains: a line each, no wider than the terminal. */
export function barsLines(all: readonly Progress[], columns: number): readonly string[] {
  const open = all.filter(({ gone, all }) => all === 0 || gone < all);
  const shown = open
    .toSorted((one, other) => other.all - other.gone - (one.all - one.gone))
    .slice(0, maxLines);
  const nameWidth = Math.max(0, ...shown.map(({ nodeName }) => displayWidth(printable(nodeName))));
  const lines = shown
    .toSorted((one, other) => (one.nodeName < other.nodeName ? -1 : 1))
    .map(one => lineOf(one, nameWidth));
  const more = open.length > shown.length ? [`and ${open.length - shown.length} more nodes`] : [];
  return [...lines, ...more].map(line => cutTo(printable(line), Math.max(1, columns - 1)));
}

/** A terminal: text is printed above and stays, the progress is redrawn below it. */
type Screen = { readonly columns: number; readonly write: (text: string) => void };

const erase = '\u001b[2K';
const up = '\u001b[1A';

/** Draws progress below the lines of the command. */
export class ProgressBars {
  readonly #screen: Screen;
  readonly #progress: () => readonly Progress[];
  #drawn = 0;

  constructor(screen: Screen, progress: () => readonly Progress[]) {
    this.#screen = screen;
    this.#progress = progress;
  }

  /** Returns an output that prints lines above the progress. */
  output(plain: Output): Output {
    const above =
      (write: (text: string) => void) =>
      (text: string): void => {
        this.lift();
        write(text);
        this.draw();
      };
    return { line: above(plain.line), note: above(plain.note) };
  }

  draw(): void {
    this.lift();
    const lines = barsLines(this.#progress(), this.#screen.columns);
    if (lines.length > 0) this.#screen.write(`${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  /** Erases the progress from the screen. */
  lift(): void {
    if (this.#drawn > 0) this.#screen.write(`\r${`${up}${erase}`.repeat(this.#drawn)}`);
    this.#drawn = 0;
  }
}
