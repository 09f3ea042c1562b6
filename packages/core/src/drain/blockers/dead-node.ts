import { isBefore, secondsAfter, timeText, truncate } from '@drydock/apimachinery';
import { conditionOf, type Node, transitionTimeOf } from '../../node/node.ts';
import { isTerminating, type Pod } from '../../pod/pod.ts';
import type { BlockerInfo } from './blocker.ts';

/**
 * Taint of Kubernetes: it deletes the pods of a node whose machine is off (KEP-2268, non-graceful
 * node shutdown).
 */
const outOfService = 'node.kubernetes.io/out-of-service';

/** A node that is not Ready: there may be no kubelet that terminates its pods. */
export type DeadNode = {
  readonly name: string;
  /**
   * True if the kubelet has not reported for the node monitor's grace period; otherwise the kubelet
   * itself reports NotReady, and may still terminate pods.
   */
  readonly silent: boolean;
  /** Reason, message and transition time of its condition. */
  readonly why: string;
  readonly outOfService: boolean;
};

/**
 * Returns the facts on a node that is not Ready; undefined while it is Ready or the condition is
 * missing.
 */
export function deadNodeOf(node: Node): DeadNode | undefined {
  const ready = conditionOf(node, 'Ready');
  if (ready === undefined || ready.status === 'True') return undefined;
  const { reason, message } = ready;
  const since = transitionTimeOf(ready);
  const sinceText = since === undefined ? '' : ` since ${timeText(since)}`;
  const words = [reason, message].filter(word => word !== '').join(': ');
  return {
    name: node.name,
    silent: ready.status === 'Unknown',
    why: truncate(`node ${node.name} is not Ready${sinceText}${words === '' ? '' : ` (${words})`}`),
    outOfService: node.taints.some(({ key }) => key === outOfService),
  };
}

function remedyFor({ name, outOfService: marked }: DeadNode): Pick<BlockerInfo, 'remedy'> {
  return marked
    ? {}
    : {
        remedy: `bring the node back; or, once its machine is known to be off, have Kubernetes remove its pods: kubectl taint nodes ${name} ${outOfService}=nodeshutdown:NoExecute, or replace the machine`,
      };
}

function waitsForKubelet({ reason }: BlockerInfo, pod: Pod, dead: DeadNode): boolean {
  if (reason === 'StuckTerminating') return pod.finalizers.length === 0;
  return reason === 'Terminating' && dead.silent;
}

/** Reports whether the budget is short of this very pod, whose readiness is unknown. */
function isMissedByBudget({ reason }: BlockerInfo, pod: Pod): boolean {
  return reason === 'DisruptionBudget' && !pod.ready && !isTerminating(pod);
}

/**
 * Attributes the blocker to the node where it is the cause: no kubelet terminates the pod, or the
 * pod's own budget counts it as lost.
 */
export function attributeToNode(
  blockerInfo: BlockerInfo,
  pod: Pod,
  dead: DeadNode | undefined,
): BlockerInfo {
  if (dead === undefined) return blockerInfo;
  if (waitsForKubelet(blockerInfo, pod, dead)) {
    const wait = dead.outOfService
      ? 'Kubernetes removes its pods, because it is marked as out of service'
      : 'nobody ends its pods';
    const { remedy: _remedy, ...rest } = blockerInfo;
    return { ...rest, reason: 'NodeNotReady', message: `${dead.why}: ${wait}`, ...remedyFor(dead) };
  }
  if (!isMissedByBudget(blockerInfo, pod)) return blockerInfo;
  const { lasting: _lasting, ...rest } = blockerInfo;
  return {
    ...rest,
    reason: 'NodeNotReady',
    message: `${dead.why}, and so is the pod; ${blockerInfo.message}`,
    ...remedyFor(dead),
  };
}

/** Pods of one owner that came to a node although it is held, and were evicted again. */
export type Recreations = { readonly count: number; readonly lastAt: Temporal.Instant };

/**
 * Number of pods that may come and be evicted at once: a scheduler that was late, a controller that
 * retries once.
 */
const atOnce = 2;

/**
 * First and longest pause between further evictions, and the time without a new pod until all is
 * forgotten, in seconds.
 */
const first = 5;
const maxLength = 300;
const forgottenAfter = 1800;

/** Returns the owner of a pod: its controller, or the pod's own name if there is none. */
export function ownerKey({ namespace, name, owner }: Pod): string {
  return owner ? `${namespace}/${owner.kind}/${owner.name}` : `${namespace}/${name}`;
}

/**
 * Returns until when a pod that has just come stays, because its owner has sent others before: pods
 * that a controller puts on a held node again and again would otherwise be evicted as fast as they
 * come. Undefined: the pod may be evicted now.
 */
export function backoffUntil(
  recreations: Recreations | undefined,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  if (recreations === undefined || recreations.count < atOnce) return undefined;
  const pause = Math.min(first * 2 ** Math.min(recreations.count - atOnce, 20), maxLength);
  const until = secondsAfter(recreations.lastAt, pause);
  return isBefore(now, until) ? until : undefined;
}

/** Counts one more pod. */
export function incrementRecreation(
  recreations: Recreations | undefined,
  now: Temporal.Instant,
): Recreations {
  const forgotten =
    recreations === undefined || !isBefore(now, secondsAfter(recreations.lastAt, forgottenAfter));
  return { count: forgotten ? 1 : recreations.count + 1, lastAt: now };
}

/** Returns the hint for controllers that ignore cordons, like DaemonSets: their pods may stay. */
function staying({ namespace, owner }: Pod): string {
  return owner === undefined
    ? ''
    : `, or let pods of ${owner.kind} stay on nodes in maintenance: drain.ignorePods: [{namespaces: [${namespace}], ownerKinds: [${truncate(owner.kind, 63)}]}]`;
}

export function recreationBlocker(pod: Pod, { count }: Recreations): BlockerInfo {
  return {
    reason: 'KeepsComing',
    pod: { namespace: pod.namespace, name: pod.name },
    message: `came after the node was held, like ${count} before it from the same owner; it is evicted more slowly each time`,
    remedy: `remove the toleration or the fixed nodeName from the pod template${staying(pod)}`,
  };
}
