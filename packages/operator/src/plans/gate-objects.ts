import { type JsonObject, matches, pathSegment } from '@drydock/apimachinery';
import type { ObjectGate, Plan } from '@drydock/core/plan';
import { isControlPlane } from '@drydock/core/quorum';
import type { CachedObject, Change, Watcher } from '@drydock/kube-client';
import type { NodeCache } from '../cache/node-cache.ts';

/**
 * Objects that gates of plans read: each is followed as long as a plan needs it, with the rights
 * that the operator was given for it.
 */

type GateObject = CachedObject & { readonly object: JsonObject };

type Followed = {
  readonly stop: AbortController;
  /** True if it has been read since it is followed, or does not exist. */
  known: boolean;
  /** Error that keeps it from being read. */
  problem?: string | undefined;
  object?: JsonObject | undefined;
};

/** Current state of an object: the object, or why it is unknown. */
export type GateObjectState = { readonly object: JsonObject } | { readonly problem: string };

function collectionOf({ apiVersion, resource, namespace }: ObjectGate): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${group}/${resource}`
    : `${group}/namespaces/${pathSegment(namespace)}/${resource}`;
}

function keyOf(gate: ObjectGate): string {
  return `${collectionOf(gate)}/${gate.object}`;
}

function titleOf({ resource, namespace, object }: ObjectGate): string {
  return `${resource} ${namespace === undefined ? object : `${namespace}/${object}`}`;
}

/** Reads an object without managed fields, which are half of it and which no gate needs. */
function read(raw: unknown): GateObject {
  const { metadata, ...object } = raw as { readonly metadata: JsonObject } & JsonObject;
  const { managedFields: _managedFields, ...rest } = metadata;
  const { name, uid, resourceVersion } = metadata as {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  return { key: name, uid, resourceVersion, object: { ...object, metadata: rest } };
}

/** A follower of these objects. */
export class GateObjects {
  readonly #watcher: Watcher;
  readonly #changed: () => void;
  readonly #followed = new Map<string, Followed>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  /** Creates the follower. `changed` is called after a change of one of the objects. */
  constructor(watcher: Watcher, changed: () => void) {
    this.#watcher = watcher;
    this.#changed = changed;
  }

  /** Follows objects from now on, until the signal is aborted. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Follows the objects of these gates, and stops following all others. */
  follow(gates: readonly ObjectGate[]): void {
    const wanted = new Map(gates.map(gate => [keyOf(gate), gate]));
    for (const [key, followed] of this.#followed) {
      if (wanted.has(key)) continue;
      followed.stop.abort();
      this.#followed.delete(key);
    }
    for (const [key, gate] of wanted) if (!this.#followed.has(key)) this.#begin(key, gate);
  }

  /** Returns the current state of a gate's object. */
  sightOf(gate: ObjectGate): GateObjectState {
    const { object, problem = `${titleOf(gate)} has not been read yet` } =
      this.#followed.get(keyOf(gate)) ?? {};
    return object === undefined ? { problem } : { object };
  }

  /**
   * Reports whether an object of the plan is followed, and has neither been read nor failed yet.
   */
  isPending({ gates }: Plan): boolean {
    return gates.some(gate => {
      const followed = gate.kind === 'object' ? this.#followed.get(keyOf(gate)) : undefined;
      return followed !== undefined && !followed.known && followed.problem === undefined;
    });
  }

  /** Resolves when nothing is followed any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  #begin(key: string, gate: ObjectGate, problem?: string): void {
    if (this.#signal === undefined || this.#signal.aborted) return;
    const followed: Followed = {
      stop: new AbortController(),
      known: false,
      ...(problem !== undefined && { problem }),
    };
    this.#followed.set(key, followed);
    const collection = { path: collectionOf(gate), fieldSelector: `metadata.name=${gate.object}` };
    const handler = {
      changed: ({ type, object: { object } }: Change<GateObject>): void =>
        this.#notify(followed, gate, type === 'removed' ? undefined : object),
      synced: (): void => this.#notify(followed, gate, followed.object),
      failing: ({
        message,
        status,
      }: {
        readonly message: string;
        readonly status?: number;
      }): void => this.#failing(key, gate, followed, problemOf(gate, message, status)),
    };
    const signal = AbortSignal.any([followed.stop.signal, this.#signal]);
    const ended = this.#watcher
      .watch(collection, read, handler, signal)
      .finally(() => this.#running.delete(ended));
    this.#running.add(ended);
  }

  #notify(followed: Followed, gate: ObjectGate, object: JsonObject | undefined): void {
    followed.known = true;
    followed.object = object;
    followed.problem = object === undefined ? `${titleOf(gate)} does not exist` : undefined;
    this.#changed();
  }

  /**
   * Handles a failure to read: what was read before is too old. The object is read again from the
   * start, because a continued watch would not deliver an unchanged object.
   */
  #failing(key: string, gate: ObjectGate, followed: Followed, problem: string): void {
    if (followed.known) {
      followed.stop.abort();
      this.#begin(key, gate, problem);
    } else followed.problem = problem;
    this.#changed();
  }
}

function problemOf(gate: ObjectGate, message: string, status: number | undefined): string {
  const { apiVersion, resource, object } = gate;
  if (status === 404) return `${apiVersion} serves no ${resource}`;
  if (status !== 403) return `${titleOf(gate)} cannot be read: ${message}`.slice(0, 300);
  return `Drydock may not read ${titleOf(gate)}: give its service account get, list and watch on ${resource} ${object}`;
}

/** Nodes of a plan, by name. */
export type NodeSelection = {
  /** Nodes that its selector matches. */
  readonly matching: ReadonlySet<string>;
  /** Matching nodes that the plan may take. */
  readonly selected: ReadonlySet<string>;
};

type Known = NodeSelection & { readonly generation: number; readonly version: number };

/**
 * A cache of the nodes that each plan selects. Every decision reads it for every plan; it is
 * computed again only after a change of labels or an edit of the plan: twenty plans of five
 * thousand nodes made 400 MB of garbage a second without it.
 */
export class NodeSelections {
  readonly #nodes: NodeCache;
  /** Selections by the plan's uid. */
  readonly #known = new Map<string, Known>();

  constructor(nodes: NodeCache) {
    this.#nodes = nodes;
  }

  of(plan: Plan): NodeSelection {
    const { uid, generation } = plan;
    const { labelsVersion: version } = this.#nodes;
    const known = this.#known.get(uid);
    if (known?.generation === generation && known.version === version) return known;
    const found = { ...this.#find(plan), generation, version };
    this.#known.set(uid, found);
    return found;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  #find({ nodeSelector, controlPlane }: Plan): NodeSelection {
    const matching = [...this.#nodes.values()].filter(({ labels }) =>
      matches(nodeSelector, labels),
    );
    const selected =
      controlPlane === 'Never' ? matching.filter(node => !isControlPlane(node)) : matching;
    return {
      matching: new Set(matching.map(({ name }) => name)),
      selected: new Set(selected.map(({ name }) => name)),
    };
  }
}
