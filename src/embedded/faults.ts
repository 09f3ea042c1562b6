import type { Api, ApiCall, ApiResponse } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import { type Failure, unnamed } from './failure.ts';

/** How often calls go wrong; each is a share of all calls, between 0 and 1. */
export type Faults = {
  /** 429 with Retry-After, 500, 503 or 504: nothing was done. */
  readonly refused: number;
  /** The connection breaks before the server has the call. */
  readonly lost: number;
  /** The connection breaks after the server has done it. */
  readonly unanswered: number;
};

/** The call has no answer, as on a connection that breaks. */
class Broken extends Error {
  override readonly name = 'ConnectionError';
  readonly mayHaveHappened: boolean;

  constructor({ method, path }: ApiCall, mayHaveHappened: boolean) {
    super(`${method} ${path}: the connection broke`);
    this.mayHaveHappened = mayHaveHappened;
  }
}

const refusals: readonly (readonly [code: number, why: string])[] = [
  [429, 'too many requests'],
  [500, 'etcdserver: request timed out'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted'],
];

const answerWith = (failure: Failure): ApiResponse => ({
  status: failure.code,
  headers: { 'content-type': 'application/json', ...(failure.code === 429 && { 'retry-after': '1' }) },
  body: failure,
});

/** An API whose calls go wrong now and then, by chance: the same numbers make the same faults. */
export const withFaults = (api: Api, faults: Faults, random: () => number, clock: Pick<Clock, 'sleep'>): Api => ({
  call: async (call, signal) => {
    const behavior = random();
    const { refused, lost, unanswered } = faults;
    if (behavior < refused) {
      const [code, why] = refusals[Math.floor(random() * refusals.length)] ?? [500, ''];
      return answerWith(unnamed(code, why));
    }
    if (behavior < refused + lost) {
      await clock.sleep(random() * 1000, signal);
      throw new Broken(call, false);
    }
    const answer = await api.call(call, signal);
    if (behavior >= refused + lost + unanswered) return answer;
    await clock.sleep(random() * 1000, signal);
    throw new Broken(call, true);
  },
});
