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
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  };
  readonly spec?: { readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
  readonly [field: string]: unknown;
};

type Condition = { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string };

export const conditionsOf = ({ status }: Thing): readonly Condition[] => (status?.['conditions'] ?? []) as readonly Condition[];

/** `True NewReplicaSetAvailable`: a condition in short; empty when there is none. */
export const condition = (thing: Thing | undefined, type: string): string => {
  const found = thing && conditionsOf(thing).find(one => one.type === type);
  return found === undefined ? '' : [found.status, found.reason ?? ''].join(' ').trim();
};

export const isTrue = (thing: Thing | undefined, type: string): boolean => condition(thing, type).startsWith('True');

export const isGoing = ({ metadata }: Thing): boolean => metadata.deletionTimestamp !== undefined;

export const isUp = (pod: Thing): boolean => isTrue(pod, 'Ready') && !isGoing(pod);

/** A number of the status, 0 where Go leaves it out. */
export const count = (thing: Thing | undefined, field: string): number => Number(thing?.status?.[field] ?? 0);

/** The status is about the spec as it is now. */
export const isCurrent = (thing: Thing | undefined): boolean =>
  thing !== undefined && Number(thing.status?.['observedGeneration'] ?? 0) >= (thing.metadata.generation ?? 0);
