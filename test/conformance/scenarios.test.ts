import { after, describe, test } from 'node:test';
import { budgets } from './scenarios/budgets.ts';
import { daemonSets } from './scenarios/daemon-sets.ts';
import { deployments } from './scenarios/deployments.ts';
import { garbage } from './scenarios/garbage.ts';
import { jobs } from './scenarios/jobs.ts';
import { kubelets } from './scenarios/kubelets.ts';
import { namespaces } from './scenarios/namespaces.ts';
import { nodes } from './scenarios/nodes.ts';
import { replicaSets } from './scenarios/replica-sets.ts';
import { scheduler } from './scenarios/scheduler.ts';
import { startSides } from './scenarios/sides.ts';
import { statefulSets } from './scenarios/stateful-sets.ts';
import { volumes } from './scenarios/volumes.ts';

const sides = await startSides();
const skip = sides.kind === 'left-out' ? `control plane left out: ${sides.why}` : false;

const chapters = {
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

describe('the embedded cluster lives as a real one', { skip, timeout: 240_000, concurrency: 12 }, () => {
  after(async () => {
    if (sides.kind === 'started') await sides.stop();
  });
  for (const [chapter, scenarios] of Object.entries(chapters)) {
    for (const [index, one] of scenarios.entries()) {
      test(`${chapter}: ${one.name}`, async () => {
        if (sides.kind === 'started') await sides.run(one, `${chapter.replaceAll(' ', '-')}-${index}`);
      });
    }
  }
});
