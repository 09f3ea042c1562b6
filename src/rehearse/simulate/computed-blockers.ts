import type { Blocker } from '../../core/drain/blockers/blocker.ts';
import { readBudget } from '../../core/drain/budgets/budget.ts';
import { decideDrainOnly } from '../../core/maintenance/decide.ts';
import { type DrainInputs, snapshotOf } from '../../core/maintenance/drain-inputs.ts';
import { readPod } from '../../core/pod/pod.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import { keyOf } from '../../embedded/controllers/controller.ts';
import { budgetsOver } from '../../embedded/registry/budgets-over.ts';
import type { Store } from '../../embedded/store/store.ts';

/**
 * Returns whether a pod is not a VM's: those are migrated by KubeVirt, and only the operator knows
 * their progress.
 */
const isPlain = ({ owner }: ReturnType<typeof readPod>): boolean => owner?.kind !== 'VirtualMachineInstance';

const drainInputsAt = (store: Store, node: string): DrainInputs => {
  const stored = store.indexed('pods', 'spec.nodeName', node);
  const budgets = new Set(stored.flatMap(pod => budgetsOver(store, pod)));
  return {
    pods: stored.map(readPod).filter(isPlain),
    budgets: [...budgets].map(readBudget),
    daemonSets: new Set(store.list('daemonsets.apps').map(keyOf)),
  };
};

/**
 * Returns the present blockers of a drain, for a kind whose status has none: the operator's
 * decision about the current pods and budgets.
 */
export const computedBlockers = (store: Store, request: MaintenanceRequest, now: Temporal.Instant): readonly Blocker[] =>
  decideDrainOnly(snapshotOf(request, drainInputsAt(store, request.nodeName)), now).reports[0]?.blockers ?? [];
