import type { Machine, MachineCluster, MachineSet } from './machine.ts';

/** Somebody else's stop sign: what its controllers leave alone because somebody has said so, Drydock leaves alone too. */

/** Why nothing is to be done to a machine, for people. */
export type MachinePause = { readonly reason: 'MachinePaused' | 'PauseUnknown'; readonly message: string };

/** What is known of the Cluster of a Machine: `withheld` where Drydock may not read it, `missing` where there is none (yet). */
export type KnownCluster = MachineCluster | 'withheld' | 'missing';

const paused = (what: string, { namespace, name, pausedBy }: Pick<Machine, 'namespace' | 'name' | 'pausedBy'>): MachinePause | undefined =>
  pausedBy === undefined
    ? undefined
    : {
        reason: 'MachinePaused',
        message: `${what} ${namespace}/${name} is paused (${pausedBy}): nothing is done to the machine until it is not any more`,
      };

const ofCluster = ({ namespace, clusterName }: Machine, cluster: KnownCluster | undefined): MachinePause | undefined => {
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
};

/** What keeps everybody's hands off a machine: a pause of its own, of a set above it, or of its Cluster. Undefined where nothing does. */
export const pauseOf = (machine: Machine, sets: readonly MachineSet[], cluster: KnownCluster | undefined): MachinePause | undefined =>
  paused('Machine', machine) ?? sets.map(set => paused(set.kind, set)).find(found => found !== undefined) ?? ofCluster(machine, cluster);
