import { type ChildProcess, fork } from 'node:child_process';

/**
 * What a worker is to load: the tests, the files with faults in them, and a fault that is awake
 * from the first line on.
 */
export type Setting = {
  readonly root: string;
  readonly tests: readonly string[];
  readonly planted: readonly string[];
  readonly awake?: string;
};

/** A test as the survey saw it: what it comes by, and why it cannot take part. */
export type Surveyed = {
  readonly at: number;
  readonly file: string;
  readonly name: string;
  readonly ms: number;
  readonly met: readonly string[];
  readonly fails?: string | undefined;
};
export type Survey = {
  readonly kind: 'survey';
  readonly atLoad: readonly string[];
  readonly cases: readonly Surveyed[];
  readonly leftOut: Readonly<Record<string, string>>;
};
export type Order = { readonly mutant: string; readonly cases: readonly number[] };
export type Answer = {
  readonly kind: 'answer';
  readonly mutant: string;
  readonly killer?: number;
  readonly why?: string;
  readonly spoilt: boolean;
};
type Loaded = { readonly kind: 'loaded'; readonly leftOut: Readonly<Record<string, string>> };

/** It said nothing in time, or ended by itself. */
export type Silence = { readonly kind: 'hangs' | 'dies' };

const patienceToLoad = 60_000;
const patienceToSurvey = 600_000;

// A fault that hangs hears nothing of the end of its parent: it is ended with it.
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** One worker process. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  /** Test files that it could not load. */
  leftOut: Readonly<Record<string, string>> = {};
  /** Nothing has been run in it yet, so nothing can have been left behind. */
  fresh = true;

  constructor(setting: Setting) {
    // A fault that eats memory is to end soon.
    this.#child = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(setting)], {
      execArgv: ['--max-old-space-size=1500', '--no-warnings'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      cwd: setting.root,
    });
    living.add(this.#child);
    this.#child.once('exit', () => living.delete(this.#child));
  }

  async ready(): Promise<boolean> {
    const loaded = await this.#hear<Loaded>(patienceToLoad);
    if (loaded.kind !== 'loaded') return false;
    this.leftOut = loaded.leftOut;
    return true;
  }

  async survey(): Promise<Survey> {
    this.fresh = false;
    const heard = this.#hear<Survey>(patienceToSurvey);
    this.#child.send('survey');
    const survey = await heard;
    if (survey.kind !== 'survey')
      throw new Error(`the tests cannot be surveyed: the worker ${survey.kind}`);
    return survey;
  }

  async ask(order: Order, patience: number): Promise<Answer | Silence> {
    this.fresh = false;
    const heard = this.#hear<Answer>(patience);
    this.#child.send(order);
    return heard;
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }

  #hear<T>(patience: number): Promise<T | Silence> {
    return new Promise(resolve => {
      const settle = (heard: T | Silence): void => {
        clearTimeout(timer);
        this.#child.off('message', settle).off('exit', died);
        resolve(heard);
      };
      const died = (): void => settle({ kind: 'dies' });
      const timer = setTimeout(() => settle({ kind: 'hangs' }), patience);
      this.#child.on('message', settle).on('exit', died);
    });
  }
}
