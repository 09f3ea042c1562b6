import { type Fault, faultsIn } from './faults.ts';

/** A fault with its name: `packages/apimachinery/src/time.ts#3`. */
export type Mutant = Fault & {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly from: string;
};

/** On one line, and no longer than a line. */
function short(text: string): string {
  const one = text.replaceAll(/\s+/g, ' ');
  return one.length <= 120 ? one : `${one.slice(0, 70)} … ${one.slice(-45)}`;
}

export function mutantsOf(file: string, text: string): readonly Mutant[] {
  return faultsIn(text).map((fault, at) => ({
    ...fault,
    id: `${file}#${at}`,
    file,
    line: text.slice(0, fault.start).split('\n').length,
    from: text.slice(fault.start, fault.end),
  }));
}

/**
 * What was there and what stands in its place, as it is shown and as it is found again when lines
 * have moved.
 */
export function titleOf({ from, by }: Pick<Mutant, 'from' | 'by'>): string {
  return `${short(from)} → ${short(by)}`;
}

/**
 * The text with all faults in it at once, each asleep: `(planted("id") ? fault : what it was)`. So
 * a file is loaded once for all of its faults, and what a test runs into tells which of them it can
 * notice.
 */
export function plant(text: string, mutants: readonly Mutant[]): string {
  const groups = Map.groupBy(mutants, ({ start, end }) => `${start}-${end}`)
    .values()
    .toArray();
  let next = 0;
  const write = (from: number, to: number): string => {
    let out = '';
    let at = from;
    for (
      let group = groups[next];
      group?.[0] !== undefined && group[0].start < to;
      group = groups[next]
    ) {
      next += 1;
      const [{ start, end }] = group as [Mutant];
      const choices = group
        .map(({ id, by }) => `planted(${JSON.stringify(id)}) ? (${by}) : `)
        .join('');
      out += `${text.slice(at, start)}(${choices}(${write(start, end)}))`;
      at = end;
    }
    return out + text.slice(at, to);
  };
  return write(0, text.length);
}
