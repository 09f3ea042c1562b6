import type { JsonObject } from '@drydock/apimachinery';
import { timeText } from '@drydock/apimachinery';
import { conditionOf, type Node, transitionTimeOf } from '../node/node.ts';

/** Condition types of KEP-5683 that a maintenance sets. */
const lifecycleConditions = [
  'DrainInProgress',
  'Drained',
  'MaintenancePlanned',
  'MaintenanceInProgress',
] as const;

type LifecycleCondition = (typeof lifecycleConditions)[number];

/** Wanted conditions; a type that is left out is to be absent. */
export type WantedConditions = Partial<
  Readonly<
    Record<
      LifecycleCondition,
      { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }
    >
  >
>;

/** Prefix of all our reasons: a condition with another reason belongs to another actor. */
const ourReason = 'Drydock';

function isOurs(node: Node, type: LifecycleCondition): boolean {
  return conditionOf(node, type)?.reason.startsWith(ourReason) === true;
}

/**
 * Reports whether the condition is True with a foreign reason: it belongs to another actor
 * (KEP-5683 defines no ownership) and is left alone. Everything else may be written: the node
 * controller turns conditions to Unknown, the kubelet resets them when it starts.
 */
function isForeign(node: Node, type: LifecycleCondition): boolean {
  return conditionOf(node, type)?.status === 'True' && !isOurs(node, type);
}

/** Reports whether a maintenance has left a condition on the node. */
export function hasLifecycleConditions(node: Node): boolean {
  return lifecycleConditions.some(type => isOurs(node, type));
}

/**
 * Returns the strategic merge patch of `nodes/status` that sets the wanted conditions and removes
 * our others; undefined if the node has them already. Only these four types are in it, so that a
 * kubelet that writes its own at the same time loses nothing.
 */
export function conditionsPatch(
  node: Node,
  wanted: WantedConditions,
  now: Temporal.Instant,
): JsonObject | undefined {
  const conditions: JsonObject[] = [];
  for (const type of lifecycleConditions) {
    if (isForeign(node, type)) continue;
    const stored = conditionOf(node, type);
    const want = wanted[type];
    if (want === undefined) {
      if (isOurs(node, type)) conditions.push({ type, $patch: 'delete' });
      continue;
    }
    if (
      stored?.status === want.status &&
      stored.reason === want.reason &&
      stored.message === want.message
    )
      continue;
    const kept = stored?.status === want.status ? transitionTimeOf(stored) : undefined;
    conditions.push({
      type,
      ...want,
      lastHeartbeatTime: timeText(now),
      lastTransitionTime: timeText(kept ?? now),
    });
  }
  return conditions.length === 0 ? undefined : { status: { conditions } };
}
