import type { Kind } from '../kinds/kind.ts';
import type { Draft, Stored } from '../object.ts';
import type { Refused } from './outcome.ts';

/** A write that is about to happen: everything has been checked but what the validating webhooks say. Upstream: admission.Attributes. */
export type AdmissionAttributes = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly of: Kind;
  /** `status`, `eviction`, `scale`; empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** As it would be stored; of deletions undefined. For a subresource with a kind of its own, an object of that kind, with kind and version. */
  readonly object: Draft | undefined;
  readonly before: Stored | undefined;
  readonly dryRun: boolean;
};

/** Stands before the store: refuses, or lets the write happen. */
export type AdmissionPlugin = (attempt: AdmissionAttributes) => Refused | undefined;
