/** What tests read of objects; the API server knows more. */
export type Metadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly controller?: boolean;
  }[];
};

export type Condition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
};

type Taint = {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
};

export type List<T> = {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
};

export type Pod = {
  readonly metadata: Metadata;
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string; readonly conditions?: readonly Condition[] };
};

export type Node = {
  readonly metadata: Metadata;
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status: { readonly conditions?: readonly Condition[] };
};

export type Budget = {
  readonly metadata: Metadata;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
    readonly expectedPods: number;
  };
};

/** A Status, with which the API server answers when it does not do what was asked. */
export type Failure = {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason: string; readonly message: string }[];
    readonly retryAfterSeconds?: number;
  };
};

export function isReady(object: {
  readonly status: { readonly conditions?: readonly Condition[] };
}): boolean {
  return (
    object.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ===
    true
  );
}

export function keyOf({ metadata }: { readonly metadata: Metadata }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
