import type { Taint } from '../hold/node.ts';
import type { JsonObject } from '../json.ts';
import type { Report } from '../phase/report.ts';
import type { Request, Stage } from './request.ts';

/** What a kind of maintenance puts on a node to hold it. */
export type Marks = {
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly labels: Readonly<Record<string, string>>;
};

/** The Lease with which operators agree on who works on a node. */
export type LeaseName = { readonly namespace: string; readonly name: string; readonly holder: string };

/** Reason and message of an event. */
type EventText = { readonly reason: string; readonly message: string };

/** How one served kind says what the core thinks. One small file a kind implements it; nothing else knows that there are several. */
export type Dialect = {
  /** `plural.group`, the name of its CRD. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Collection path for the whole cluster, for example `/apis/drydock.dev/v1alpha1/maintenances`. */
  readonly path: string;
  readonly finalizer: string;
  readonly marks: (stage: Stage) => Marks;
  readonly lease: (nodeName: string) => LeaseName;
  /** Reporting component of its events. */
  readonly component: string;
  readonly events: {
    readonly begun: EventText;
    readonly succeeded: EventText;
    readonly failed: EventText;
    readonly removed: EventText;
    readonly uncordoned: EventText;
  };
  /** The whole status for a report. Fields that only say when it was written are taken from the stored one as long as nothing else differs. */
  readonly status: (report: Report, request: Request, now: Temporal.Instant) => JsonObject;
  /** Reads an object of this kind; a string says why it cannot be worked with. */
  readonly read: (raw: unknown) => Request | string;
};

/** The path of one object. */
export const pathOf = ({ dialect, namespace, name }: Pick<Request, 'dialect' | 'namespace' | 'name'>): string => {
  if (namespace === undefined) return `${dialect.path}/${encodeURIComponent(name)}`;
  const cut = dialect.path.lastIndexOf('/');
  return `${dialect.path.slice(0, cut)}/namespaces/${encodeURIComponent(namespace)}${dialect.path.slice(cut)}/${encodeURIComponent(name)}`;
};
