import { secondsAfter, secondsBetween } from '@drydock/apimachinery';
import type { MigrationSample, NodeVms, VmPod } from './vm-pod.ts';

/** Seconds below which Kubernetes' whole seconds do not allow to measure a duration. */
const minimum = 0.5;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/**
 * Returns the bytes that one migration copies in a second, and the seconds that it takes beside.
 */
function paceOf(samples: readonly MigrationSample[]): {
  readonly rate: number;
  readonly overhead: number;
} {
  const bytes = samples.reduce((sum, sample) => sum + sample.bytes, 0);
  const seconds = samples.reduce((sum, sample) => sum + Math.max(minimum, sample.copiedSeconds), 0);
  return {
    rate: bytes / seconds,
    overhead: median(samples.map(({ waitedSeconds }) => waitedSeconds)),
  };
}

/** Returns the seconds that this VM still needs once it has its turn. */
function needs(
  { vmi, migration }: VmPod,
  pace: ReturnType<typeof paceOf>,
  now: Temporal.Instant,
): number {
  const whole = pace.overhead + (vmi.memory ?? 0) / pace.rate;
  return migration === undefined
    ? whole
    : Math.max(minimum, whole - Math.max(0, secondsBetween(migration.createdAt, now)));
}

/**
 * Returns when the last VM will have moved, from the sizes of those that are left and the durations
 * of the latest migrations in this cluster, as many at a time as KubeVirt allows. Undefined if no
 * migration has been observed yet, or nothing has to move.
 */
export function lastMoveAt(
  vmPods: Iterable<VmPod>,
  { settings, samples }: NodeVms,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const moving = [...vmPods].filter(
    ({ stay, evictionEffect }) => stay === 'here' && evictionEffect === 'Migrates',
  );
  const pace = paceOf(samples);
  if (moving.length === 0 || !Number.isFinite(pace.rate) || pace.rate <= 0) return undefined;
  const times = moving.map(vmPod => needs(vmPod, pace, now));
  const together =
    times.reduce((sum, time) => sum + time, 0) /
    Math.max(1, Math.min(settings.parallelPerNode, settings.parallelPerCluster));
  return secondsAfter(now, Math.max(together, ...times));
}
