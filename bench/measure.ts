import { setTimeout as sleep } from 'node:timers/promises';
import { type Audited, firstEvictions, type Tally, tally } from '../test/control-plane/audit.ts';
import type { ControlPlane } from '../test/control-plane/types.ts';
import { makeArena } from './arena.ts';
import type { Contender, ContenderName } from './contenders/contender.ts';
import { observe } from './observer.ts';
import type { Scenario } from './scenarios.ts';

/** What one contender needed for one run of one scenario. */
export type Measurement = {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly run: number;
  /** Until the contender itself said that it was done. */
  readonly seconds: number;
  /** Until the last evictable pod had left the nodes, as seen by an independent watch. */
  readonly emptySeconds: number;
  readonly tally: Tally;
  /**
   * For each node, from the arrival of its object at the API server to the arrival of its first
   * eviction there.
   */
  readonly reactionMs: readonly number[];
};

const maxMs = 30 * 60_000;

function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(maxMs);
  const timeout = new Promise<never>((_, reject) =>
    late.addEventListener('abort', () => reject(new Error(`${what} took more than 30 minutes`))),
  );
  return Promise.race([work, timeout]);
}

function reactions(
  contender: Contender,
  events: readonly Audited[],
  nodeOf: (pod: string) => string | undefined,
): readonly number[] {
  if (contender.startedBy === undefined) return [];
  const own = events.filter(({ user }) => user === contender.user);
  const first = firstEvictions(own, nodeOf);
  const created = events.filter(
    event =>
      event.verb === 'create' && event.resource === contender.startedBy && event.subresource === '',
  );
  return created.flatMap(event => {
    // Objects have the name of their node.
    const at = event.name === '' ? undefined : first.get(event.name);
    return at === undefined ? [] : [at - event.receivedAt];
  });
}

/** One run: the same initial state, the drain, the bill. */
export async function measure(
  controlPlane: ControlPlane,
  scenario: Scenario,
  contender: Contender,
  run: number,
): Promise<Measurement> {
  const arena = await makeArena(controlPlane.api, scenario, `${contender.name}-${run}`);
  const api = controlPlane.apiOf('observer');
  const observer = await observe(api, arena.targets);
  const mark = controlPlane.audit.mark();
  const start = performance.now();
  await inTime(`${contender.name} with ${scenario.name}`, contender.drain(arena.targets));
  const end = performance.now();
  const empty = await Promise.race([
    observer.emptyAt(),
    sleep(10_000, undefined, { ref: false }).then(() => Number.NaN),
  ]);
  if (Number.isNaN(empty))
    throw new Error(
      `${contender.name} said that ${scenario.name} was done, but pods are left on its nodes`,
    );
  const events = await controlPlane.audit.since(mark);
  observer.stop();
  api.close();
  await contender.release(arena.targets);
  await arena.clear();
  return {
    scenario: scenario.name,
    contender: contender.name,
    run,
    seconds: (end - start) / 1000,
    emptySeconds: (empty - start) / 1000,
    tally: tally(events.filter(({ user }) => user === contender.user)),
    reactionMs: reactions(contender, events, pod => observer.nodeOf(pod)),
  };
}
