import type { Blocker } from '@drydock/core/drain';
import { readBudget } from '@drydock/core/drain';
import { type DrainInputs, decideDrainOnly, snapshotOf } from '@drydock/core/maintenance';
import { readPod } from '@drydock/core/pod';
import type { MaintenanceRequest } from '@drydock/core/request';
import { keyOf } from '@drydock/kube-sim/controllers';
import { budgetsOver } from '@drydock/kube-sim/registry';
import type { Store } from '@drydock/kube-sim/store';

/**
 * Returns whether a pod is not a VM's: those are migrated by KubeVirt, and only the operator knows
 * their progress.
 */
function isPlain({ owner }: ReturnType<typeof readPod>): boolean {
  return owner?.kind !== 'VirtualMachineInstance';
}

function drainInputsAt(store: Store, node: string): DrainInputs {
  const stored = store.indexed('pods', 'spec.nodeName', node);
  const budgets = new Set(stored.flatMap(pod => budgetsOver(store, pod)));
  return {
    pods: stored.map(readPod).filter(isPlain),
    budgets: [...budgets].map(readBudget),
    daemonSets: new Set(store.list('daemonsets.apps').map(keyOf)),
  };
}

/**
 * Returns the present blockers of a drain, for a kind whose status has none: the operator's
 * decision about the current pods and budgets.
 */
export function computedBlockers(
  store: Store,
  request: MaintenanceRequest,
  now: Temporal.Instant,
): readonly Blocker[] {
  return (
    decideDrainOnly(snapshotOf(request, drainInputsAt(store, request.nodeName)), now).reports[0]
      ?.blockers ?? []
  );
}
