/**
 * Stands in for `node:test` while faults are planted: it keeps the tests, so that each can be run
 * again and again, alone. A test file that needs more of the runner than this does not load, and is
 * left out.
 */

type Run = (context: { readonly name: string; readonly signal: AbortSignal }) => unknown;
export type Case = {
  readonly file: string;
  readonly name: string;
  readonly run: () => Promise<void>;
};

export const kept: Case[] = [];
const at = { file: '', path: [] as readonly string[] };

export function inFile(file: string): void {
  at.file = file;
  at.path = [];
}

export function describe(name: string, ...rest: readonly unknown[]): void {
  const body = rest.at(-1) as () => void;
  const { path } = at;
  at.path = [...path, name];
  body();
  at.path = path;
}

export function test(name: string, ...rest: readonly unknown[]): void {
  const body = rest.at(-1) as Run;
  const title = [...at.path, name].join(' > ');
  kept.push({
    file: at.file,
    name: title,
    run: async () => {
      const over = new AbortController();
      try {
        await body({ name, signal: over.signal });
      } finally {
        over.abort();
      }
    },
  });
}
