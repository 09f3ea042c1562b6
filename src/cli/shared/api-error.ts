import { isObject } from '../../core/json.ts';
import { statusMessage } from '../../core/status.ts';
import type { ApiResponse } from '../../operator/ports.ts';

/** The API server said no; the words are kubectl's (`Error from server (NotFound): nodes "x" not found`). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
}

/** The error that kubectl would print for this answer, without its prefix `error: `. */
export const refusedError = (answer: ApiResponse): ApiError => {
  const { body, status } = answer;
  if (status === 401) return new ApiError(`error: You must be logged in to the server (${statusMessage(answer)})`);
  const reason = isObject(body) && typeof body['reason'] === 'string' && body['reason'] !== '' ? ` (${body['reason']})` : '';
  return new ApiError(`Error from server${reason}: ${statusMessage(answer)}`);
};
