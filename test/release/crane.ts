import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until } from '../control-plane/wait.ts';

/** crane, which pushes images, and is a registry as well. */
export const crane = await ensureBuilt({
  name: 'crane',
  module: join(import.meta.dirname, 'crane'),
  salt: '',
  announcement: 'building crane for the tests, a few seconds,',
  build: (to, go) =>
    go([
      'build',
      '-o',
      join(to, 'crane'),
      '-ldflags',
      '-s -w',
      'github.com/google/go-containerregistry/cmd/crane',
    ]),
});

/** Path of crane; only where it is built. */
export const craneProgram = crane.kind === 'ready' ? join(crane.folder, 'crane') : '';

/** A registry on this machine, without TLS. */
export type Registry = {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  /** Pushes an OCI layout; `flags` are those of `crane push`. */
  push(layout: string, name: string, ...flags: readonly string[]): Promise<void>;
  stop(): void;
};

/** Starts it, and waits until it listens. */
export async function startRegistry(): Promise<Registry> {
  const [port = 0] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const child = spawn(craneProgram, ['registry', 'serve', '--address', address], {
    stdio: 'ignore',
    env: { ...process.env, PORT: String(port) },
  });
  await until('the registry to listen', async () => (await fetch(`http://${address}/v2/`)).ok);
  return {
    address,
    push: async (layout, name, ...flags) => {
      const { code, stderr } = await run(craneProgram, [
        'push',
        ...flags,
        layout,
        `${address}/${name}`,
        '--insecure',
      ]);
      if (code !== 0) throw new Error(`crane push ended with ${code}: ${stderr}`);
    },
    stop: () => void child.kill(),
  };
}
