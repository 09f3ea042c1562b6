import { isDefect } from '@drydock/utils';
import type { Api, ApiCall, ApiResponse } from './api.ts';

/**
 * Reads an object that a decision waits for. Resolves with undefined if there is no response, and
 * passes the error to `failing`. Rejects for defects only.
 */
export async function vitalGet(
  api: Api,
  path: string,
  failing: (error: unknown) => void,
  query: NonNullable<ApiCall['query']> = {},
): Promise<ApiResponse | undefined> {
  try {
    return await api.call({ method: 'GET', path, query, priority: 'vital', timeoutMs: 10_000 });
  } catch (error) {
    if (isDefect(error)) throw error;
    failing(error);
    return undefined;
  }
}
