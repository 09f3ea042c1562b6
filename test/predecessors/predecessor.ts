import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@drydock/apimachinery';
import type { Api } from '../control-plane/objects/api.ts';
import { getNode, podsOn } from '../control-plane/objects/cluster.ts';
import type { List } from '../control-plane/objects/objects.ts';
import { collectionOfOld, finalizer, type Old, taintsOf } from './old.ts';
import {
  ask,
  drain,
  otherTaints,
  pendingOn,
  releaseLease,
  requestLease,
  setCordon,
  setLabel,
  setTaints,
} from './requests.ts';

/**
 * A stand-in for the operators that Drydock replaces: the requests of their passes, in their order
 * (first the marks, then the drain; on the way out taints, cordon, lease, label, finalizer). What
 * it leaves is compared with what the real ones have left: see contract.test.ts.
 */

/** Something that serves maintenances as an older operator does. */
export type OldOperator = {
  start(): Promise<void>;
  /** At once, in the middle of whatever it is doing. */
  stop(): Promise<void>;
  /** What went wrong since it was started. */
  errors(): readonly string[];
  /**
   * For so long it must not have written anything to be taken for idle: the real ones wake
   * themselves by their own writes.
   */
  readonly idleAfterMs: number;
};

type Stored = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly spec: { readonly nodeName: string };
  readonly status?: JsonObject;
};

function secondNow(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

function isZero(value: unknown): boolean {
  return value === 0 || value === undefined || (Array.isArray(value) && value.length === 0);
}

/**
 * The object as its Go struct has it: an unknown field of the status does not survive a write, and
 * what is zero is left out.
 */
function asStruct(old: Old, object: Stored): Stored {
  const fields: readonly string[] = old.fields;
  const known = Object.entries(object.status ?? {}).filter(
    ([field, value]) => fields.includes(field) && !isZero(value),
  );
  return { ...object, status: Object.fromEntries(known) };
}

/** The two passes that an object can see. */
class Passes {
  readonly #api: Api;
  readonly #old: Old;

  constructor(api: Api, old: Old) {
    this.#api = api;
    this.#old = old;
  }

  async of(name: string): Promise<void> {
    const object = asStruct(this.#old, await this.#api.get<Stored>(this.#pathOf(name)));
    if (object.metadata.deletionTimestamp === undefined) await this.#maintain(object);
    else if (isEnding(object)) await this.#end(object);
  }

  async #end(object: Stored): Promise<void> {
    const { nodeName } = object.spec;
    const node = await getNode(this.#api, nodeName);
    await setTaints(this.#api, node, otherTaints(this.#old, node));
    await setCordon(this.#api, node, false);
    await releaseLease(this.#api, this.#old, nodeName);
    await setLabel(this.#api, node, this.#old.label, null);
    const finalizers = object.metadata.finalizers?.filter(one => one !== finalizer);
    await ask(this.#api, 'PUT', this.#pathOf(object.metadata.name), {
      ...object,
      metadata: { ...object.metadata, finalizers },
    });
  }

  async #maintain(found: Stored): Promise<void> {
    const { nodeName } = found.spec;
    const begun = await this.#begun(found);
    const node = await getNode(this.#api, nodeName);
    await requestLease(this.#api, this.#old, node);
    await setLabel(this.#api, node, this.#old.label, 'true');
    await setTaints(this.#api, node, [...taintsOf(this.#old), ...otherTaints(this.#old, node)]);
    await setCordon(this.#api, node, true);
    const lastError = await drain(this.#api, nodeName);
    if (lastError === undefined) {
      const { pendingPods: _pods, pendingPodsRefs: _refs, ...kept } = begun.status ?? {};
      await this.#report(begun, {
        ...kept,
        phase: 'Succeeded',
        drainProgress: 100,
        lastUpdate: secondNow(),
      });
      return;
    }
    const pending = await this.#pending(nodeName);
    const toEvict = Number(begun.status?.['evictionPods'] ?? 0);
    const drainProgress =
      toEvict === 0 ? 0 : Math.trunc(((toEvict - pending.pendingPods.length) * 100) / toEvict);
    await this.#report(begun, {
      ...begun.status,
      phase: 'Running',
      ...pending,
      lastError,
      drainProgress,
      lastUpdate: secondNow(),
    });
  }

  /** With the finalizer and the numbers of the first look. */
  async #begun(found: Stored): Promise<Stored> {
    const { name, finalizers = [] } = found.metadata;
    const claimed = finalizers.includes(finalizer)
      ? found
      : asStruct(
          this.#old,
          await ask<Stored>(this.#api, 'PUT', this.#pathOf(name), {
            ...found,
            metadata: { ...found.metadata, finalizers: [...finalizers, finalizer] },
          }),
        );
    if (claimed.status?.['phase'] !== undefined) return claimed;
    const pending = await this.#pending(claimed.spec.nodeName);
    return this.#report(claimed, {
      phase: 'Running',
      ...pending,
      totalpods: (await podsOn(this.#api, claimed.spec.nodeName)).length,
      evictionPods: pending.pendingPods.length,
      lastUpdate: secondNow(),
    });
  }

  async #pending(nodeName: string): Promise<{
    readonly pendingPods: readonly string[];
    readonly pendingPodsRefs: readonly JsonObject[];
  }> {
    const pods = await pendingOn(this.#api, nodeName);
    return {
      pendingPods: pods.map(({ metadata }) => metadata.name),
      pendingPodsRefs: pods.map(({ metadata: { name, namespace } }) => ({ name, namespace })),
    };
  }

  async #report(object: Stored, status: JsonObject): Promise<Stored> {
    const next = asStruct(this.#old, { ...object, status });
    return asStruct(
      this.#old,
      await ask<Stored>(this.#api, 'PUT', `${this.#pathOf(object.metadata.name)}/status`, next),
    );
  }

  #pathOf(name: string): string {
    return `${collectionOfOld(this.#old)}/${name}`;
  }
}

function isEnding({ metadata }: Stored): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true
  );
}

/** Nothing has changed since it was served to the end. */
function isDone(object: Stored, seen: Stored | undefined): boolean {
  return (
    object.status?.['phase'] === 'Succeeded' &&
    object.metadata.resourceVersion === seen?.metadata.resourceVersion &&
    !isEnding(object)
  );
}

/**
 * A stand-in that serves the objects of its kind on its nodes until it is stopped: two generations
 * have the same kind.
 */
export function harnessIn(api: Api, old: Old): OldOperator {
  let running = Promise.withResolvers<void>();
  let stopping = new AbortController();
  let problems: string[] = [];
  const passes = new Passes(api, old);

  const seen = new Map<string, Stored>();

  const look = async ({ metadata: { name } }: Stored): Promise<void> => {
    await passes.of(name).catch((error: unknown) => void problems.push(String(error)));
    const after = await api.call('GET', `${collectionOfOld(old)}/${name}`);
    if (after.status === 200) seen.set(name, after.body as Stored);
  };

  const serve = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const { items } = await api.get<List<Stored>>(collectionOfOld(old));
      const its = items.filter(({ spec }) => spec.nodeName.startsWith(`${old.short}-`));
      const due = its.filter(object => !isDone(object, seen.get(object.metadata.name)));
      // Two of one node never at the same time.
      const byNode = Map.groupBy(due, ({ spec }) => spec.nodeName);
      await Promise.all([...byNode.values()].map(async objects => objects[0] && look(objects[0])));
      await sleep(50);
    }
  };

  return {
    idleAfterMs: 0,
    start: async () => {
      problems = [];
      seen.clear();
      stopping = new AbortController();
      running = Promise.withResolvers<void>();
      // Whoever stops it is told.
      running.promise.catch(() => {});
      serve(stopping.signal).then(running.resolve, running.reject);
    },
    stop: async () => {
      stopping.abort();
      await running.promise;
    },
    errors: () => problems,
  };
}
