import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, type Stored, text } from '@drydock/kube-sim';

/** Owner of a pod as users name it: the Deployment rather than its ReplicaSet. */
export type Workload = { readonly kind: string; readonly namespace: string; readonly name: string };

export function workloadText({ kind, namespace, name }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}

/** Returns the reference to an object's controller. */
export function controllerRef(object: JsonObject): JsonObject | undefined {
  return objects(at(object, 'metadata', 'ownerReferences')).find(
    ({ controller }) => controller === true,
  );
}

export function uidOf(object: JsonObject): string {
  return text(object, 'metadata', 'uid');
}
export function namespaceOf(object: JsonObject): string {
  return text(object, 'metadata', 'namespace');
}
export function nameOf(object: JsonObject): string {
  return text(object, 'metadata', 'name');
}

/** Returns `namespace/name`. */
export function keyOf(object: JsonObject): string {
  return `${namespaceOf(object)}/${nameOf(object)}`;
}

/** Looks up the controllers of ReplicaSets, which pods do not name. */
export class Workloads {
  readonly #above = new Map<string, JsonObject>();
  /** Owners in the copy: some have a stand-in of another kind in the rehearsal. */
  readonly #named = new Map<string, JsonObject>();

  constructor(all: Iterable<JsonObject>) {
    for (const object of all) {
      const owner = controllerRef(object);
      if (owner === undefined) continue;
      if (object['kind'] === 'ReplicaSet') this.#above.set(uidOf(object), owner);
      else if (object['kind'] === 'Pod') this.#named.set(text(owner, 'uid'), owner);
    }
  }

  /** Returns the workload; undefined for a pod without a controller. */
  of(pod: JsonObject | Stored): Workload | undefined {
    const owner = controllerRef(pod);
    if (owner === undefined) return undefined;
    const uid = text(owner, 'uid');
    const top = this.#above.get(uid) ?? this.#named.get(uid) ?? owner;
    return { kind: text(top, 'kind'), namespace: namespaceOf(pod), name: text(top, 'name') };
  }
}
