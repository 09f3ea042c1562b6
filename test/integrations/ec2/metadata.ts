import { join } from 'node:path';
import type { GoBuild } from '../../control-plane/build/go-build.ts';
import { makeFolder } from '../../control-plane/folder.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';
import { start } from '../../control-plane/processes/process.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { ensureProgram, type LeftOut } from '../builds.ts';

const build: GoBuild = {
  name: 'integrations/metadata',
  module: join(import.meta.dirname, 'metadata-mock'),
  salt: '',
  announcement: 'building the metadata service of AWS, a few seconds,',
  build: (folder, go) =>
    go(['build', '-ldflags', '-s -w', '-o', join(folder, 'metadata-mock'), '.']),
};

type Options = {
  /** `events`: scheduled maintenance; `spot`: interruptions. The mock serves one of both. */
  readonly serves: 'events' | 'spot';
  /** Refuses calls without a token, as instances with IMDSv2 required do. */
  readonly tokensOnly?: boolean;
  /** More of the mock's own flags. */
  readonly flags?: readonly string[];
};

/** The instance metadata service that an instance would find at 169.254.169.254. */
export interface MetadataService {
  readonly kind: 'started';
  /** For `AWS_EC2_METADATA_SERVICE_ENDPOINT`. */
  readonly endpoint: string;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts AWS's own mock of it on 127.0.0.1, or says why this machine has none. */
export async function startMetadata({
  serves,
  tokensOnly = false,
  flags = [],
}: Options): Promise<MetadataService | LeftOut> {
  const built = await ensureProgram(build);
  if (built.kind === 'left-out') return built;
  const [port = 0] = await freePorts(1);
  const folder = makeFolder();
  const running = start({ kind: 'itself' }, folder.path, {
    name: 'metadata',
    command: join(built.folder, 'metadata-mock'),
    args: [serves, '-n', '127.0.0.1', '-p', String(port), ...(tokensOnly ? ['-I'] : []), ...flags],
    // It would read its settings from the home of whoever runs the tests.
    environment: { HOME: folder.path },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await running.stop();
    folder.remove();
  };
  try {
    await waitFor('the metadata service to listen', async () => {
      if (!running.alive()) return { yet: `it has ended: ${running.tail()}` };
      await fetch(`${endpoint}/latest/api/token`);
      return { done: undefined };
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { kind: 'started', endpoint, stop, [Symbol.asyncDispose]: stop };
}
