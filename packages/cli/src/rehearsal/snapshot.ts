import { readdirSync } from 'node:fs';
import {
  copiedKinds,
  ofKind,
  SnapshotError,
  takeCopy,
  writeCopy,
} from '@drydock/rehearse/snapshot';
import { systemClock, UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';

export type SnapshotFlags = ConnectionFlags;

/** Refuses a folder with files: those of an older copy would be read as part of the new one. */
function refuseFull(folder: string): void {
  const found = ((): readonly string[] => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  })();
  if (found.length > 0)
    throw new UsageError(`${folder} is not empty: name a folder that is, or that is not there yet`);
}

/**
 * `drydock snapshot DIR`: lists the cluster's objects and writes the copy. Throws a UsageError when
 * the folder cannot be written.
 */
export async function snapshot(
  folder: string,
  flags: SnapshotFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  refuseFull(folder);
  await withCluster(flags, env, async connection => {
    const copy = await takeCopy({ api: connection, now: () => systemClock.now() });
    try {
      writeCopy(folder, copy);
    } catch (error) {
      if (error instanceof SnapshotError) throw new UsageError(error.message, { cause: error });
      throw error;
    }
    for (const what of copy.leftOut) plainOutput.note(`left out: ${what}`);
    const counts = copiedKinds.flatMap(({ kind, plural }) => {
      const count = ofKind(copy.objects, kind).length;
      return count === 0 ? [] : [`${count} ${plural}`];
    });
    plainOutput.line(`${folder}: ${counts.join(', ')}`);
  });
}
