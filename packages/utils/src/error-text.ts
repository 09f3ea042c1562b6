/**
 * Returns an error's message. Several attempts of one connect (IPv6, then IPv4) are an
 * AggregateError without a message: then the messages of all of them.
 */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(errorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
