import type { TroubleReason } from '../core/machine/event.ts';

/** Why a source could not be read, and what to do about it. */
export type SourceError = { readonly reason: TroubleReason; readonly message: string };

/** What was asked for, or why there is no answer. */
export type Fetched<T> = { readonly told: T; readonly trouble?: undefined } | { readonly told?: undefined; readonly trouble: SourceError };
