import type { ContenderName } from './contenders/contender.ts';
import type { Measurement } from './measure.ts';
import { median, type Summary } from './summary.ts';

/**
 * Something the bench must show, and whether it did. Undefined where this run did not measure it.
 */
export type Bound = {
  readonly what: string;
  readonly limit: string;
  readonly measured?: number;
  readonly holds?: boolean;
};

const mebibyte = 1024 * 1024;

function atMost(what: string, measured: number | undefined, limit: number, unit = ''): Bound {
  return {
    what,
    limit: `≤ ${limit}${unit}`,
    ...(measured === undefined ? {} : { measured, holds: measured <= limit }),
  };
}

function atLeast(what: string, measured: number | undefined, limit: number, unit = ''): Bound {
  return {
    what,
    limit: `≥ ${limit}${unit}`,
    ...(measured === undefined ? {} : { measured, holds: measured >= limit }),
  };
}

/**
 * The time from an object to its first eviction is taken where one node is drained: with many at
 * once the operator holds nodes back on purpose, so that some are done early, and the time to their
 * first eviction says nothing of how quick it is.
 */
function reaction(measurements: readonly Measurement[]): number | undefined {
  const alone = measurements.filter(
    ({ contender, reactionMs }) => contender === 'operator' && reactionMs.length === 1,
  );
  return alone.length === 0 ? undefined : median(alone.flatMap(({ reactionMs }) => reactionMs));
}

export function boundsOf(
  measurements: readonly Measurement[],
  summaries: readonly Summary[],
  memory: number | undefined,
): readonly Bound[] {
  const find = (scenario: string, contender: ContenderName): Summary | undefined =>
    summaries.find(summary => summary.scenario === scenario && summary.contender === contender);
  const faster = (scenario: string, contender: ContenderName): number | undefined => {
    const [kubectl, ours] = [find(scenario, 'kubectl'), find(scenario, contender)];
    return kubectl === undefined || ours === undefined ? undefined : kubectl.seconds / ours.seconds;
  };
  const ofAll = (
    bound: (contender: ContenderName, called: string) => readonly Bound[],
  ): readonly Bound[] => [
    ...bound('operator', 'the operator'),
    ...bound('nodemaintenance', 'the operator with NodeMaintenances'),
    ...bound('drain', 'drydock drain'),
  ];
  return [
    ...ofAll((contender, called) => [
      ...['free', 'pdb', 'mix'].map(name =>
        atMost(
          `${name}: time of ${called} to that of the floor`,
          find(name, contender)?.ratio,
          1.2,
        ),
      ),
      atMost(`fleet: time of ${called} to that of the floor`, find('fleet', contender)?.ratio, 0.9),
      ...['pdb', 'mix'].map(name =>
        atLeast(`${name}: time of kubectl to that of ${called}`, faster(name, contender), 3),
      ),
      ...['free', 'pdb', 'mix', 'fleet', 'scale'].map(name =>
        atMost(
          `${name}: eviction calls of ${called} for each pod`,
          find(name, contender)?.evictionsPerPod,
          1.2,
        ),
      ),
    ]),
    atMost(
      'p50 from creating the object to the first eviction call, one node',
      reaction(measurements),
      60,
      ' ms',
    ),
    atMost(
      'memory of the operator after the runs',
      memory === undefined ? undefined : memory / mebibyte,
      150,
      ' MiB',
    ),
  ];
}
