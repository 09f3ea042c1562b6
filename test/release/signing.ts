import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Built, ensureBuilt } from '../control-plane/build/go-build.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';

/**
 * What RELEASING.md says about signing, and docs/install.md about verifying: the commands as they
 * stand there.
 */

const root = join(import.meta.dirname, '..', '..');

export const cosign: Built = await ensureBuilt({
  name: 'cosign',
  module: join(import.meta.dirname, 'cosign'),
  salt: '',
  announcement: 'building cosign for the tests, two minutes,',
  build: (to, go) =>
    go([
      'build',
      '-o',
      join(to, 'cosign'),
      '-ldflags',
      '-s -w',
      'github.com/sigstore/cosign/v3/cmd/cosign',
    ]),
});

function text(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

/** The lines of the one block of RELEASING.md. */
export function signing(): string {
  const [, block] = /^## Signing$[^]*?^```sh\n([^]*?)^```$/m.exec(text('RELEASING.md')) ?? [];
  if (block === undefined) throw new Error('RELEASING.md has no block of commands below "Signing"');
  return block;
}

/** The commands with which a user verifies a release. */
export function verifying(): readonly string[] {
  return [...text('docs/install.md').matchAll(/`(cosign verify[^`]*)`/g)].map(
    ([, command = '']) => command,
  );
}

/**
 * Runs commands in a folder, with programs on PATH; whoever asks anybody else but 127.0.0.1 is
 * refused.
 */
export function shell(
  folder: string,
  programs: readonly string[],
  environment: Readonly<Record<string, string>>,
) {
  return (commands: string): Promise<Outcome> =>
    run('sh', ['-euc', commands], {
      cwd: folder,
      timeoutMs: 60_000,
      environment: {
        PATH: [...programs, process.env['PATH']].join(':'),
        HTTP_PROXY: 'http://127.0.0.1:1',
        HTTPS_PROXY: 'http://127.0.0.1:1',
        NO_PROXY: '127.0.0.1',
        ...environment,
      },
    });
}
