import type { Kind } from '../kinds/kind.ts';
import type { Draft, Stored } from '../object.ts';
import type { Refused } from './outcome.ts';

/**
 * A pending write: everything has been checked except the validating webhooks. Upstream:
 * admission.Attributes.
 */
export type AdmissionAttributes = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly of: Kind;
  /** Subresource: `status`, `eviction`, `scale`; empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Object as it would be stored; undefined for deletions. For a subresource with its own kind, an
   * object of that kind, with kind and version.
   */
  readonly object: Draft | undefined;
  readonly before: Stored | undefined;
  readonly dryRun: boolean;
};

/** Check before the store: refuses a write, or admits it. */
export type AdmissionPlugin = (attempt: AdmissionAttributes) => Refused | undefined;
