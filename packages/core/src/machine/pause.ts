import type { Machine, MachineCluster, MachineSet } from './machine.ts';

/**
 * Pauses by others: objects that their own controllers leave alone because of a pause are left
 * alone by Drydock too.
 */

/** Reason why nothing is to be done to a machine, for people. */
export type MachinePause = {
  readonly reason: 'MachinePaused' | 'PauseUnknown';
  readonly message: string;
};

/**
 * State of the Cluster of a Machine: `withheld` if Drydock may not read it, `missing` if there is
 * none (yet).
 */
export type KnownCluster = MachineCluster | 'withheld' | 'missing';

function paused(
  what: string,
  { namespace, name, pausedBy }: Pick<Machine, 'namespace' | 'name' | 'pausedBy'>,
): MachinePause | undefined {
  return pausedBy === undefined
    ? undefined
    : {
        reason: 'MachinePaused',
        message: `${what} ${namespace}/${name} is paused (${pausedBy}): nothing is done to the machine until it is not any more`,
      };
}

function ofCluster(
  { namespace, clusterName }: Machine,
  cluster: KnownCluster | undefined,
): MachinePause | undefined {
  if (cluster === undefined) return undefined;
  if (typeof cluster === 'object') return paused('Cluster', cluster);
  const why =
    cluster === 'missing'
      ? 'there is none of that name'
      : 'Drydock may not read clusters.cluster.x-k8s.io: allow it to get, list and watch them';
  return {
    reason: 'PauseUnknown',
    message: `Whether Cluster ${namespace}/${clusterName} is paused is not known (${why}): nothing is done to the machine`,
  };
}

/**
 * Returns the pause of a machine: its own, of a set above it, or of its Cluster. Undefined if there
 * is none.
 */
export function pauseOf(
  machine: Machine,
  sets: readonly MachineSet[],
  cluster: KnownCluster | undefined,
): MachinePause | undefined {
  return (
    paused('Machine', machine) ??
    sets.map(set => paused(set.kind, set)).find(found => found !== undefined) ??
    ofCluster(machine, cluster)
  );
}
