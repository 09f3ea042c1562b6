import type { DrainBehavior, DrainPolicy, FilterContext } from '@drydock/core/drain';
import type { Pod } from '@drydock/core/pod';
import { type EvictionPreview, evictionPreview } from '@drydock/core/vm';

/** Returns a preview of the VMs whose pods the drain evicts. */
export function outlookOf(
  judged: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[],
  { vmPods }: FilterContext,
  policy: DrainPolicy,
): readonly EvictionPreview[] {
  return evictionPreview(
    judged.flatMap(({ pod, behavior }) =>
      behavior.behavior === 'ignore' ? [] : (vmPods.get(pod.uid) ?? []),
    ),
    policy.virtualMachines,
  );
}
