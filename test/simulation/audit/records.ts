import { at, part, type Stored, text } from '@drydock/kube-sim';
import type { Store, StoreChange } from '@drydock/kube-sim/store';
import { maintenanceResources } from '../story/story.ts';

/** A maintenance as it stood for some time. */
export type Version = {
  readonly resource: string;
  readonly object: Stored;
  readonly fromMs: number;
  /** Infinity as long as it stands. */
  readonly toMs: number;
};

const resources = new Set<string>(Object.values(maintenanceResources));

export function nodeOf({ metadata, ...object }: Stored): string {
  return text(object, 'spec', 'nodeName') || metadata.name;
}

function isDeleting({ metadata }: Stored): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function stageOf(object: Stored): string {
  return text(object, 'spec', 'level') || 'Drain';
}

/**
 * What every maintenance was at any moment of late, and when objects have gone: for judging those
 * who knew it late.
 */
export class Records {
  readonly #versions = new Map<string, Version[]>();
  readonly #goneAtMs = new Map<string, number>();
  readonly #nowMs: () => number;

  constructor(store: Store, nowMs: () => number) {
    this.#nowMs = nowMs;
    store.subscribe(change => this.#told(change));
  }

  /**
   * Maintenances of a node that stood within the last so many milliseconds and were not being
   * deleted.
   */
  wanting(node: string, withinMs: number): readonly Version[] {
    const since = this.#nowMs() - withinMs;
    return (this.#versions.get(node) ?? []).filter(
      ({ toMs, object }) => toMs >= since && !isDeleting(object),
    );
  }

  /** Milliseconds since an object of that name was removed; Infinity where there was none. */
  goneFor(resource: string, namespace: string, name: string): number {
    return (
      this.#nowMs() -
      (this.#goneAtMs.get(`${resource} ${namespace}/${name}`) ?? Number.NEGATIVE_INFINITY)
    );
  }

  #told({ type, resource, object }: StoreChange): void {
    const { namespace = '', name } = object.metadata;
    if (type === 'removed') this.#goneAtMs.set(`${resource} ${namespace}/${name}`, this.#nowMs());
    if (!resources.has(resource)) return;
    const node = nodeOf(object);
    const now = this.#nowMs();
    const all = (this.#versions.get(node) ?? []).filter(({ toMs }) => toMs >= now - keptMs);
    const standing = all.findIndex(
      one =>
        one.toMs === Number.POSITIVE_INFINITY && one.object.metadata.uid === object.metadata.uid,
    );
    const current = all[standing];
    if (current !== undefined) all[standing] = { ...current, toMs: now };
    if (type !== 'removed')
      all.push({ resource, object, fromMs: now, toMs: Number.POSITIVE_INFINITY });
    this.#versions.set(node, all);
  }
}

const keptMs = 600_000;

/** What the operators before did, for all kinds that have no policy of their own. */
const seedPolicy = { force: true, deleteEmptyDirData: true, ignoreDaemonSets: true };

/** What a maintenance says about pods; of the kinds without a policy, what they always did. */
export function policyOf({
  resource,
  object,
}: Pick<Version, 'resource' | 'object'>): ReturnType<typeof part> {
  return resource === maintenanceResources.Maintenance ? part(object, 'spec', 'drain') : seedPolicy;
}

/** A flag of the policy, with its default. */
export function flag(policy: ReturnType<typeof part>, name: string, otherwise: boolean): boolean {
  const value = at(policy, name);
  return typeof value === 'boolean' ? value : otherwise;
}
