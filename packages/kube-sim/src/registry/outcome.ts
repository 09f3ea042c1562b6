import type { JsonObject } from '@drydock/apimachinery';
import type { Failure } from '../failure.ts';
import type { Draft, Stored } from '../object.ts';

/** Result of a write. */
export type WriteResult =
  | {
      readonly kind: 'done';
      readonly object: Stored;
      readonly created: boolean;
      readonly warnings: readonly string[];
    }
  | Refused;

export type Refused = {
  readonly kind: 'refused';
  readonly failure: Failure;
  readonly warnings?: readonly string[];
};

/**
 * Result of a deletion: removed, or terminating (finalizers, grace period). `object` is the last
 * state for watchers.
 */
export type Deletion =
  | { readonly kind: 'done'; readonly object: Stored; readonly gone: boolean }
  | Refused;

export type Preconditions = { readonly uid?: string; readonly resourceVersion?: string };

/** metav1.DeleteOptions. */
export type DeleteOptions = {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly orphanDependents?: boolean;
  readonly preconditions?: Preconditions;
  readonly dryRun?: boolean;
};

export type WriteOptions = {
  /** Whether nothing may be written. */
  readonly dryRun?: boolean;
  /** Treatment of unknown fields: ignored, a warning, or an error. `Warn` when left out. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** Field manager; `unknown` when left out. */
  readonly manager?: string;
  /** Managed fields of a new object that is applied. */
  readonly managedFields?: readonly JsonObject[];
  /** Whether the edit has already updated managedFields. */
  readonly keepsManagers?: boolean;
};

/** Returns the wanted object for the present one, or refuses. */
export type Edit = (
  current: Stored,
) => { readonly kind: 'edited'; readonly draft: Draft } | Refused;

export function refused(failure: Failure, warnings?: readonly string[]): Refused {
  return {
    kind: 'refused',
    failure,
    ...(warnings && { warnings }),
  };
}
