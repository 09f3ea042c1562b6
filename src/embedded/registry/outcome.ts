import type { JsonObject } from '../../core/json.ts';
import type { Failure } from '../failure.ts';
import type { Draft, Stored } from '../object.ts';

/** What became of a write. */
export type WriteResult =
  | { readonly kind: 'done'; readonly object: Stored; readonly created: boolean; readonly warnings: readonly string[] }
  | Refused;

export type Refused = { readonly kind: 'refused'; readonly failure: Failure; readonly warnings?: readonly string[] };

/** What became of a deletion: gone for good, or on its way out (finalizers, grace period). `object` is how watchers see it last. */
export type Deletion = { readonly kind: 'done'; readonly object: Stored; readonly gone: boolean } | Refused;

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
  /** Says what would happen, and writes nothing. */
  readonly dryRun?: boolean;
  /** Fields that the kind does not have: ignored, warned of, or an error. `Warn` when left out. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** Who writes; `unknown` when left out. */
  readonly manager?: string;
  /** Of a new object that is applied. */
  readonly managedFields?: readonly JsonObject[];
  /** The edit has seen to managedFields itself. */
  readonly keepsManagers?: boolean;
};

/** Makes the wanted object of the present one, or refuses. */
export type Edit = (current: Stored) => { readonly kind: 'edited'; readonly draft: Draft } | Refused;

export const refused = (failure: Failure, warnings?: readonly string[]): Refused => ({
  kind: 'refused',
  failure,
  ...(warnings && { warnings }),
});
