import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { type Failure, unnamed } from './failure.ts';

/** Rates of failing calls; each is a share of all calls, between 0 and 1. */
export type Faults = {
  /** Rate of 429 with Retry-After, 500, 503 or 504, without an effect. */
  readonly refused: number;
  /** Rate of connections that break before the server has the call. */
  readonly lost: number;
  /** Rate of connections that break after the server has executed the call. */
  readonly unanswered: number;
};

/** A call without a response, as on a broken connection. */
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

function answerWith(failure: Failure): ApiResponse {
  return {
    status: failure.code,
    headers: {
      'content-type': 'application/json',
      ...(failure.code === 429 && { 'retry-after': '1' }),
    },
    body: failure,
  };
}

/** Wraps an API so that calls fail at random: the same numbers cause the same failures. */
export function withFaults(
  api: Api,
  faults: Faults,
  random: () => number,
  clock: Pick<Clock, 'sleep'>,
): Api {
  return {
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
  };
}
