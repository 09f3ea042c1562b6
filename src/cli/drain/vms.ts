import type { DrainBehavior, FilterContext } from '../../core/drain/filters.ts';
import type { Pod } from '../../core/pod/pod.ts';
import type { DrainPolicy } from '../../core/request/policy.ts';
import { type EvictionPreview, evictionPreview } from '../../core/vm/eviction-preview.ts';

/** Returns a preview of the VMs whose pods the drain evicts. */
export const outlookOf = (
  judged: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[],
  { vmPods }: FilterContext,
  policy: DrainPolicy,
): readonly EvictionPreview[] =>
  evictionPreview(
    judged.flatMap(({ pod, behavior }) => (behavior.behavior === 'ignore' ? [] : (vmPods.get(pod.uid) ?? []))),
    policy.virtualMachines,
  );
