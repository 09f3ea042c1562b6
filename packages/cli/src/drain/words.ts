import { joinLimited } from '@drydock/apimachinery';
import type { DrainBehavior, DrainPolicy, FilterContext } from '@drydock/core/drain';
import { isDaemonSetPod, isFinished, type Pod } from '@drydock/core/pod';
import { type EvictionPreview, evictionPreview } from '@drydock/core/vm';

/** kubectl drain's own messages (k8s.io/kubectl pkg/drain/filters.go): scripts read them. */

type Judged = { readonly pod: Pod; readonly behavior: DrainBehavior };

function refusalOf(
  pod: Pod,
  { reason, message, remedy }: Extract<DrainBehavior, { readonly behavior: 'refuse' }>,
): string {
  if (reason === 'NotMigratable' || reason === 'VirtualMachineStops')
    return `Pods of VMs that would not be moved: ${message} (${remedy})`;
  if (reason === 'LocalData')
    return 'Pods with local storage (use --delete-emptydir-data to override)';
  if (reason === 'DaemonSet') return 'DaemonSet-managed Pods (use --ignore-daemonsets to ignore)';
  if (isDaemonSetPod(pod)) return `daemonsets.apps "${pod.owner?.name ?? ''}" not found`;
  return 'Pods that declare no controller (use --force to override)';
}

function grouped(all: readonly { readonly pod: Pod; readonly text: string }[]): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const { pod, text } of all) groups.set(text, [...(groups.get(text) ?? []), pod.key]);
  return [...groups].map(([text, keys]) => `${text}: ${keys.join(', ')}`);
}

/**
 * Returns why this node cannot be drained: one text for each kind of refusal. Empty when no pod is
 * refused.
 */
export function refusals(judged: readonly Judged[]): readonly string[] {
  return grouped(
    judged.flatMap(({ pod, behavior }) =>
      behavior.behavior === 'refuse' ? [{ pod, text: refusalOf(pod, behavior) }] : [],
    ),
  ).map(text => `cannot delete ${text}`);
}

function warningOf({ pod, behavior }: Judged): string | undefined {
  if (behavior.behavior === 'ignore')
    return behavior.reason === 'DaemonSet' ? 'ignoring DaemonSet-managed Pods' : undefined;
  if (behavior.behavior !== 'evict' || isFinished(pod)) return undefined;
  if (pod.owner?.kind === 'VirtualMachineInstance') return undefined;
  if (pod.owner === undefined) return 'deleting Pods that declare no controller';
  if (isDaemonSetPod(pod)) return `daemonsets.apps "${pod.owner.name}" not found`;
  return pod.localData ? 'deleting Pods with local storage' : undefined;
}

/** Returns a warning about consequences of the flags; undefined when there are none. */
export function warning(judged: readonly Judged[]): string | undefined {
  const found = judged.flatMap(one => {
    const text = warningOf(one);
    return text === undefined ? [] : [{ pod: one.pod, text }];
  });
  return found.length === 0 ? undefined : `Warning: ${grouped(found).join('; ')}`;
}

/** Returns several errors as one text: apimachinery's Aggregate. */
export function aggregate(errors: readonly string[]): string {
  const [first = '', ...others] = [...new Set(errors)];
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}

/** Returns the error for a pod whose eviction failed for good. */
export function evictionError(
  { name, namespace }: Pick<Pod, 'name' | 'namespace'>,
  message: string,
): string {
  return `error when evicting pods/"${name}" -n "${namespace}": ${message}`;
}

/** Returns the error for a pod that is still terminating when the time is up. */
export function waitError({ name, namespace }: Pick<Pod, 'name' | 'namespace'>): string {
  return `error when waiting for pod "${name}" in namespace "${namespace}" to terminate: context deadline exceeded`;
}

/** Returns warnings about VMs that are not migrated because the flags allow it. */
export function vmWarnings(outlook: readonly EvictionPreview[]): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const { name, text, warns } of outlook)
    if (warns) groups.set(text, [...(groups.get(text) ?? []), name]);
  return [...groups].map(([text, names]) => `Warning: VM ${joinLimited(names, 5)} ${text}`);
}

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
