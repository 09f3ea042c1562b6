import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { beforeAnnotation, type Node, readNode } from '../node/node.ts';

/** RFC 7386, as the API server does it: null removes, objects merge, everything else replaces. */
export function applyMerge(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: Record<string, Json | undefined> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else result[key] = applyMerge(result[key], value);
  }
  return result;
}

/** The node as an object of the API. */
function rawNode(node: Node): JsonObject {
  return {
    metadata: {
      name: node.name,
      uid: node.uid,
      resourceVersion: node.resourceVersion,
      labels: { ...node.labels },
      annotations: node.holdRecord === undefined ? {} : { [beforeAnnotation]: node.holdRecord },
    },
    spec: {
      ...(node.unschedulable && { unschedulable: true }),
      ...(node.taints.length > 0 && { taints: [...node.taints] }),
    },
    status: {},
  };
}

/** The node after a patch, with a new resourceVersion. */
export function patchNode(node: Node, patch: JsonObject): Node {
  const patched = applyMerge(rawNode(node), patch);
  return {
    ...readNode(patched),
    resourceVersion: String(Number(node.resourceVersion) + 1),
    conditions: node.conditions,
  };
}
