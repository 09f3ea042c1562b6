import type { JsonObject } from '../../core/json.ts';
import type { ObjectGate } from '../../core/plan/gates/gate.ts';
import type { CachedObject, Change, Watcher } from '../ports.ts';

/** The objects that gates of plans look at: each is followed as long as a plan asks for it, with the rights that the operator has been given for it. */

type GateObject = CachedObject & { readonly object: JsonObject };

type Followed = {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** What keeps it from being read. */
  problem?: string;
  object?: JsonObject;
};

/** What an object is now: it itself, or why nothing can be said of it. */
export type Sight = { readonly object: JsonObject } | { readonly problem: string };

const collectionOf = ({ apiVersion, resource, namespace }: ObjectGate): string => {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined ? `${group}/${resource}` : `${group}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
};

const keyOf = (gate: ObjectGate): string => `${collectionOf(gate)}/${gate.object}`;

const titleOf = ({ resource, namespace, object }: ObjectGate): string =>
  `${resource} ${namespace === undefined ? object : `${namespace}/${object}`}`;

/** Managed fields are half of an object, and nobody asks for them. */
const read = (raw: unknown): GateObject => {
  const { metadata, ...object } = raw as { readonly metadata: JsonObject } & JsonObject;
  const { managedFields: _managedFields, ...rest } = metadata;
  const { name, uid, resourceVersion } = metadata as { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  return { key: name, uid, resourceVersion, object: { ...object, metadata: rest } };
};

/** Follows them. */
export class GateObjects {
  readonly #watcher: Watcher;
  readonly #changed: () => void;
  readonly #followed = new Map<string, Followed>();
  #signal: AbortSignal | undefined;

  /** `changed`: one of them says something else now. */
  constructor(watcher: Watcher, changed: () => void) {
    this.#watcher = watcher;
    this.#changed = changed;
  }

  /** From now on objects are followed, until the signal is aborted. */
  begin(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Follows the objects of these gates, and no others any more. */
  follow(gates: readonly ObjectGate[]): void {
    const wanted = new Map(gates.map(gate => [keyOf(gate), gate]));
    for (const [key, followed] of this.#followed) {
      if (wanted.has(key)) continue;
      followed.stop.abort();
      this.#followed.delete(key);
    }
    for (const [key, gate] of wanted) if (!this.#followed.has(key)) this.#begin(key, gate);
  }

  /** What the object of a gate is now. */
  sightOf(gate: ObjectGate): Sight {
    const { object, problem = `${titleOf(gate)} has not been read yet` } = this.#followed.get(keyOf(gate)) ?? {};
    return object === undefined ? { problem } : { object };
  }

  /** Resolves when nothing is followed any more. */
  async ended(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ ended }) => ended));
  }

  #begin(key: string, gate: ObjectGate): void {
    if (this.#signal === undefined || this.#signal.aborted) return;
    const stop = new AbortController();
    const missing = `${titleOf(gate)} does not exist`;
    const collection = { path: collectionOf(gate), fieldSelector: `metadata.name=${gate.object}` };
    const tell = (what: Pick<Followed, 'object' | 'problem'>): void => {
      const { object: _object, problem: _problem, ...rest } = this.#followed.get(key) ?? { stop, ended };
      this.#followed.set(key, { ...rest, ...what });
      this.#changed();
    };
    const handler = {
      changed: ({ type, object }: Change<GateObject>): void => tell(type === 'removed' ? { problem: missing } : { object: object.object }),
      synced: (): void => {
        if (this.#followed.get(key)?.object === undefined) tell({ problem: missing });
      },
      // What was read before is too old to go by.
      failing: ({ message, status }: { readonly message: string; readonly status?: number }): void =>
        tell({ problem: problemOf(gate, message, status) }),
    };
    const ended: Promise<void> = this.#watcher.watch(collection, read, handler, AbortSignal.any([stop.signal, this.#signal]));
    this.#followed.set(key, { stop, ended, ...this.#followed.get(key) });
  }
}

const problemOf = (gate: ObjectGate, message: string, status: number | undefined): string => {
  const { apiVersion, resource, object } = gate;
  if (status === 404) return `${apiVersion} serves no ${resource}`;
  if (status !== 403) return `${titleOf(gate)} cannot be read: ${message}`.slice(0, 300);
  return `Drydock may not read ${titleOf(gate)}: give its service account get, list and watch on ${resource} ${object}`;
};
