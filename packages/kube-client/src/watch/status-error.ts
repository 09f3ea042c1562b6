/** An error response of the server: a meta/v1 Status, or any other body. */
export type StatusError = {
  /** HTTP status, or a Status's `code`. */
  readonly status: number | undefined;
  readonly message: string;
  /**
   * Subject of the error.
   * - `version` the resourceVersion or the continue token is not valid (any more): list again
   * - `missing` the collection does not exist
   * - `other` retry later
   */
  readonly about: 'version' | 'missing' | 'other';
};

type Status = {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string }[] };
};

/** Reads an error response. `httpStatus` is undefined for an error event within a stream. */
export function statusErrorOf(httpStatus: number | undefined, body: unknown): StatusError {
  const status: Status =
    typeof body === 'object' && body !== null
      ? body
      : { message: typeof body === 'string' ? body.trim().slice(0, 500) : '' };
  const code = httpStatus ?? status.code;
  const message =
    status.message === undefined || status.message === ''
      ? (status.reason ?? 'no reason given')
      : status.message;
  return {
    status: code,
    message,
    about: isAboutVersion(code, status) ? 'version' : code === 404 ? 'missing' : 'other',
  };
}

/**
 * Returns whether the resourceVersion is the cause. The rule is 410, reason Expired or Gone. 400
 * stands for a version that the server cannot parse. A version from the future (the data store was
 * restored, or another server is behind) is a 504 with a cause: client-go's reflector,
 * isTooLargeResourceVersionError.
 */
function isAboutVersion(code: number | undefined, { reason, message, details }: Status): boolean {
  return (
    code === 410 ||
    code === 400 ||
    reason === 'Expired' ||
    reason === 'Gone' ||
    (details?.causes ?? []).some(cause => cause.reason === 'ResourceVersionTooLarge') ||
    (code === 504 && (message ?? '').includes('Too large resource version'))
  );
}
