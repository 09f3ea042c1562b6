import { dirname } from 'node:path';
import type { Mutant } from './schemata.ts';
import { type Setting, type Survey, type Surveyed, WorkerProcess } from './worker-process.ts';

/** What became of a fault. `unreached`: no test comes by it. */
type Outcome = 'killed' | 'hangs' | 'dies' | 'survives' | 'unreached';
export type Result = {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  readonly killer?: string;
};

/**
 * In milliseconds. `patience`: what a fault may take beyond twice what its tests take without it.
 * `budget`: the tests that are run for one fault take no longer than this together; the quick ones
 * come first.
 */
type Limits = { readonly patience: number; readonly budget: number };
const defaults: Limits = { patience: 5000, budget: 3000 };

type Job = {
  readonly mutant: Mutant;
  readonly cases: readonly Surveyed[];
  readonly atLoad: boolean;
};

/** Tests beside the code first, then what is quick: the sooner one fails, the less is run. */
function inOrder(cases: readonly Surveyed[], file: string, budget: number): readonly Surveyed[] {
  const room = dirname(file);
  const cost = (one: Surveyed): number => one.ms * (dirname(one.file) === room ? 1 : 5);
  let spent = 0;
  return cases
    .filter(({ fails }) => fails === undefined)
    .toSorted((a, b) => cost(a) - cost(b))
    .filter(({ ms }) => (spent += ms) <= budget);
}

function jobsOf(mutants: readonly Mutant[], survey: Survey, budget: number): readonly Job[] {
  const atLoad = new Set(survey.atLoad);
  const byMutant = new Map<string, Surveyed[]>();
  for (const one of survey.cases) {
    for (const id of one.met) byMutant.getOrInsertComputed(id, () => []).push(one);
  }
  return mutants.map(mutant => ({
    mutant,
    atLoad: atLoad.has(mutant.id),
    cases: inOrder(
      atLoad.has(mutant.id) ? survey.cases : (byMutant.get(mutant.id) ?? []),
      mutant.file,
      budget,
    ),
  }));
}

/**
 * One process at work on the faults, one after the other; a new one takes its place when it cannot
 * be trusted any more.
 */
class Hunter {
  readonly #setting: Setting;
  readonly #survey: Survey;
  readonly #patience: number;
  #hand: WorkerProcess | undefined;

  constructor(setting: Setting, survey: Survey, patience: number) {
    this.#patience = patience;
    this.#setting = setting;
    this.#survey = survey;
  }

  async try(job: Job): Promise<Result> {
    const { mutant, cases, atLoad } = job;
    if (cases.length === 0) return { mutant, outcome: 'unreached' };
    // What is reckoned when a file is loaded is reckoned once: the fault has to be awake before.
    if (atLoad) this.end();
    const hand = await this.#ready(atLoad ? mutant.id : '');
    if (hand === undefined) return { mutant, outcome: 'killed', killer: 'loading' };
    const wasFresh = hand.fresh;
    const answer = await hand.ask(
      { mutant: mutant.id, cases: cases.map(({ at }) => at) },
      this.#patience + 2 * sum(cases),
    );
    const clean = answer.kind === 'answer' && !answer.spoilt && !atLoad;
    if (!clean) this.end();
    if (!clean && !wasFresh) return this.try(job);
    if (answer.kind !== 'answer') return { mutant, outcome: answer.kind };
    const killer = this.#survey.cases.find(({ at }) => at === answer.killer);
    return killer === undefined
      ? { mutant, outcome: 'survives' }
      : { mutant, outcome: 'killed', killer: `${killer.file}: ${killer.name}` };
  }

  end(): void {
    this.#hand?.end();
    this.#hand = undefined;
  }

  /** Undefined where the tests cannot even be loaded with the fault. */
  async #ready(awake: string): Promise<WorkerProcess | undefined> {
    if (this.#hand !== undefined) return this.#hand;
    const hand = new WorkerProcess({ ...this.#setting, ...(awake !== '' && { awake }) });
    const loaded = await hand.ready();
    const missing = Object.keys(hand.leftOut).some(file => !(file in this.#survey.leftOut));
    if (!loaded || missing) {
      hand.end();
      if (awake === '') throw new Error('a worker could not load the tests');
      return undefined;
    }
    this.#hand = hand;
    return hand;
  }
}

function sum(cases: readonly Surveyed[]): number {
  return cases.reduce((all, { ms }) => all + ms, 0);
}

/** The tests without a fault. */
export async function surveyOf(setting: Setting): Promise<Survey> {
  const hand = new WorkerProcess(setting);
  try {
    if (!(await hand.ready())) throw new Error('the tests cannot be loaded with faults planted');
    return await hand.survey();
  } finally {
    hand.end();
  }
}

/** Two at a time. `done` is told how many have been tried. */
export async function hunt(
  setting: Setting,
  survey: Survey,
  mutants: readonly Mutant[],
  done: (count: number) => void = () => undefined,
  { patience, budget }: Limits = defaults,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const jobs = jobsOf(mutants, survey, budget).values();
  const work = async (): Promise<void> => {
    const hunter = new Hunter(setting, survey, patience);
    try {
      for (const job of jobs) {
        results.push(await hunter.try(job));
        done(results.length);
      }
    } finally {
      hunter.end();
    }
  };
  await Promise.all([work(), work()]);
  return results;
}
