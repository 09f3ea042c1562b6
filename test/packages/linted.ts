import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

type Report = {
  readonly diagnostics: readonly {
    readonly code: string;
    readonly labels: readonly { readonly span: { readonly line: number } }[];
  }[];
};

/** A folder with a copy of the linter's configuration, in which files can be planted. */
export class LintedFolder implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'drydock-linted-'));

  constructor() {
    copyFileSync(join(root, '.oxlintrc.json'), join(this.#folder, '.oxlintrc.json'));
  }

  /** The lines of a planted file to which this rule objects. */
  refusedLines(path: string, text: string, rule: string): ReadonlySet<number> {
    const file = join(this.#folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const bin = join(root, 'node_modules', '.bin');
    // The linter is a script, which looks for `node` on PATH.
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` };
    const args = ['-c', '.oxlintrc.json', '-A', 'all', '--format', 'json', file];
    const { stdout, stderr } = spawnSync(join(bin, 'oxlint'), args, {
      cwd: this.#folder,
      encoding: 'utf8',
      env,
    });
    assert.match(stdout, /^\{/, stderr);
    const { diagnostics } = JSON.parse(stdout) as Report;
    return new Set(
      diagnostics
        .filter(({ code }) => code.includes(rule))
        .map(({ labels }) => labels[0]?.span.line ?? 0),
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}
