import { isObject, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Node, readNode } from '@drydock/core/node';

/**
 * A Node, and once there is a plan all fields that its expressions may read, at the same version.
 */
export type CachedNode = Node & { readonly object?: JsonObject };

function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

function part(object: JsonObject, key: string): JsonObject {
  const found = object[key];
  return isObject(found) ? found : {};
}

/**
 * Returns the conditions without heartbeats. A condition that equals a kept one shares its memory.
 */
function conditionsOf(
  { conditions: raw }: JsonObject,
  { conditions: kept }: Node,
): readonly JsonObject[] {
  return ((raw ?? []) as readonly JsonObject[]).map(({ lastHeartbeatTime: _, ...quiet }, index) => {
    const same = kept[index];
    return sameJson(quiet, same) ? (same as JsonObject) : quiet;
  });
}

/**
 * Reads a Node without images and managed fields, which are most of it and which no expression
 * needs.
 */
export function readWholeNode(raw: unknown): CachedNode {
  const given = raw as JsonObject;
  const node = readNode(given);
  const status = part(given, 'status');
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: without(part(given, 'metadata'), 'managedFields'),
    spec: part(given, 'spec'),
    status: {
      ...without(status, 'images', 'volumesInUse', 'volumesAttached'),
      conditions: conditionsOf(status, node),
    },
  };
  return { ...node, object };
}

function unversioned(object: JsonObject): JsonObject {
  return { ...object, metadata: without(part(object, 'metadata'), 'resourceVersion') };
}

/** Reports whether the two objects are equal to expressions: they differ by heartbeats at most. */
export function looksTheSame(one: CachedNode, other: CachedNode): boolean {
  return (
    one.object !== undefined &&
    other.object !== undefined &&
    sameJson(unversioned(one.object), unversioned(other.object))
  );
}
