import type { TroubleReason } from '@drydock/core/machine';

/** Reason why a source could not be read, and a remedy. */
export type SourceError = { readonly reason: TroubleReason; readonly message: string };

/** Result of a request, or the reason for its failure. */
export type Fetched<T> =
  | { readonly told: T; readonly trouble?: undefined }
  | { readonly told?: undefined; readonly trouble: SourceError };
