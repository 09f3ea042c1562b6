/** An object as a scenario reads it: only what it looks into is named here. */
export type Thing = {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly generateName?: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion?: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly uid: string;
    }[];
  };
  readonly spec?: { readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
  readonly [field: string]: unknown;
};

type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
};

export function conditionsOf({ status }: Thing): readonly Condition[] {
  return (status?.['conditions'] ?? []) as readonly Condition[];
}

/** `True NewReplicaSetAvailable`: a condition in short; empty when there is none. */
export function condition(thing: Thing | undefined, type: string): string {
  const found = thing && conditionsOf(thing).find(one => one.type === type);
  return found === undefined ? '' : [found.status, found.reason ?? ''].join(' ').trim();
}

export function isTrue(thing: Thing | undefined, type: string): boolean {
  return condition(thing, type).startsWith('True');
}

export function isGoing({ metadata }: Thing): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isUp(pod: Thing): boolean {
  return isTrue(pod, 'Ready') && !isGoing(pod);
}

/** A number of the status, 0 where Go leaves it out. */
export function count(thing: Thing | undefined, field: string): number {
  return Number(thing?.status?.[field] ?? 0);
}

/** The status is about the spec as it is now. */
export function isCurrent(thing: Thing | undefined): boolean {
  return (
    thing !== undefined &&
    Number(thing.status?.['observedGeneration'] ?? 0) >= (thing.metadata.generation ?? 0)
  );
}
