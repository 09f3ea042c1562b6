/** What an error says. Several tries of one connect (IPv6, then IPv4) are an AggregateError without a message: then what each of them says. */
export const errorText = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join('; ');
  return error instanceof Error ? error.message : String(error);
};
