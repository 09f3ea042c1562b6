import { budgets } from './budgets.ts';
import { daemonSets } from './daemon-sets.ts';
import { deployments } from './deployments.ts';
import { garbage } from './garbage.ts';
import { jobs } from './jobs.ts';
import { kubelets } from './kubelets.ts';
import { namespaces } from './namespaces.ts';
import { nodes } from './nodes.ts';
import { replicaSets } from './replica-sets.ts';
import { scheduler } from './scheduler.ts';
import type { Scenario } from './sides.ts';
import { statefulSets } from './stateful-sets.ts';
import { volumes } from './volumes.ts';

/** Everything that is played on both sides. */
export const chapters: Readonly<Record<string, readonly Scenario[]>> = {
  deployments,
  'replica sets': replicaSets,
  'stateful sets': statefulSets,
  'daemon sets': daemonSets,
  jobs,
  budgets,
  garbage,
  namespaces,
  nodes,
  scheduler,
  kubelets,
  volumes,
};
