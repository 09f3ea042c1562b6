import type { Blocker } from '../../core/drain/blockers/blocker.ts';
import { readBudget } from '../../core/drain/budgets/budget.ts';
import { decideDrainOnly } from '../../core/maintenance/decide.ts';
import { type DrainInputs, snapshotOf } from '../../core/maintenance/drain-inputs.ts';
import { readPod } from '../../core/pod/pod.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import { keyOf } from '../../embedded/controllers/controller.ts';
import { budgetsOver } from '../../embedded/registry/budgets-over.ts';
import type { Store } from '../../embedded/store/store.ts';

/** The pods of VMs are KubeVirt's to move, and only the operator knows how far it is with them. */
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

/** What keeps a drain at this moment, of a kind whose status does not say it: the operator's judgement of pods and budgets as they are. */
export const computedBlockers = (store: Store, request: MaintenanceRequest, now: Temporal.Instant): readonly Blocker[] =>
  decideDrainOnly(snapshotOf(request, drainInputsAt(store, request.nodeName)), now).reports[0]?.blockers ?? [];
