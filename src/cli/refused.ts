import { isObject } from '../core/json.ts';
import type { ApiAnswer } from '../operator/ports.ts';

/** The API server said no; the words are kubectl's (`Error from server (NotFound): nodes "x" not found`). */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** What the server said, for people. */
export const messageOf = ({ status, body }: ApiAnswer): string =>
  isObject(body) && typeof body['message'] === 'string' && body['message'] !== '' ? body['message'] : `HTTP status ${status}`;

/** The error that kubectl would print for this answer, without its prefix `error: `. */
export const refusedError = (answer: ApiAnswer): RefusedError => {
  const { body } = answer;
  const reason = isObject(body) && typeof body['reason'] === 'string' && body['reason'] !== '' ? ` (${body['reason']})` : '';
  return new RefusedError(`Error from server${reason}: ${messageOf(answer)}`);
};
