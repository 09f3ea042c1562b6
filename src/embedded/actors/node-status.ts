import type { JsonObject } from '../../core/json.ts';
import { objects, part, type Stored, text } from '../object.ts';

/** What a kubelet says of its node: the conditions that every node has. */

const usual: readonly (readonly [type: string, status: string, reason: string, message: string])[] = [
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
];

/** The status of a node whose kubelet answers; undefined when the node says already that it is Ready. */
export const readyStatus = (node: Stored, now: string): JsonObject | undefined => {
  const before = part(node, 'status');
  const conditions = objects(before['conditions']);
  if (conditions.some(one => text(one, 'type') === 'Ready' && text(one, 'status') === 'True')) return undefined;
  const own = new Set(usual.map(([type]) => type));
  const made = usual.map(([type, status, reason, message]) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }));
  return { ...before, conditions: [...conditions.filter(one => !own.has(text(one, 'type'))), ...made] };
};
