import { isObject, statusMessage } from '@drydock/apimachinery';
import type { ApiResponse } from '@drydock/kube-client';

/**
 * An error of the API server, in kubectl's words (`Error from server (NotFound): nodes "x" not
 * found`).
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
}

/** Returns the error that kubectl would print for this response, without its prefix `error: `. */
export function refusedError(answer: ApiResponse): ApiError {
  const { body, status } = answer;
  if (status === 401)
    return new ApiError(`error: You must be logged in to the server (${statusMessage(answer)})`);
  const reason =
    isObject(body) && typeof body['reason'] === 'string' && body['reason'] !== ''
      ? ` (${body['reason']})`
      : '';
  return new ApiError(`Error from server${reason}: ${statusMessage(answer)}`);
}
