import type { JsonObject } from '@drydock/apimachinery';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { part, seeded } from '@drydock/kube-sim';
import { Audit, type Violation } from './audit/audit.ts';
import type { Caller } from './cluster/caller.ts';
import { act, help } from './cluster/people.ts';
import { Process } from './cluster/process.ts';
import { SimClock } from './cluster/sim-clock.ts';
import { type SimulatedCluster, setUp } from './cluster/simulated-cluster.ts';
import { sweep } from './cluster/sweep.ts';
import { endOf, unfinished } from './ending.ts';
import { type Asked, never, type SimulationContext, type Warp } from './simulation-context.ts';
import {
  countOf,
  type End,
  maintenanceResources,
  type Story,
  type WhenInStory,
} from './story/story.ts';
import { warmUpMs } from './story/times.ts';

/** What came of a story. */
export type Outcome = {
  readonly violation: Violation | undefined;
  /** What happened before the violation, the last at the end. */
  readonly lines: readonly string[];
  /** Of everything that happened. */
  readonly digest: string;
  readonly maintenances: number;
  readonly calls: number;
  /** Of simulated time. */
  readonly seconds: number;
};

const minuteMs = 60_000;
const maintenancePlans = 'maintenanceplans.drydock.dev';
const stepMs = 5000;

/**
 * So long at most until everything has come to its end once nothing goes wrong any more: the
 * longest pauses are five minutes.
 */
const patienceMs = 90 * minuteMs;

/**
 * More for each node where pods have responders: one that says nothing is passed over after twenty
 * minutes, and limits may have the nodes wait for each other.
 */
const responderMs = 20 * minuteMs;

/** Until everything is released. */
const endPatienceMs = 15 * minuteMs;

class Play {
  readonly #story: Story;
  readonly #clock = new SimClock();
  readonly #audit = new Audit(this.#clock);
  readonly #stage: SimulatedCluster;
  readonly #world: SimulationContext;
  readonly #triggers = new Map<string, (() => void)[]>();
  readonly #versions: { readonly at: number; readonly version: number }[] = [];
  readonly #lies = new Set<string>();
  #startedMs = Number.POSITIVE_INFINITY;
  #calmSince = Number.POSITIVE_INFINITY;
  #served = 0;
  #processes = 0;
  #process: Process | undefined;
  #ahead = 0;

  constructor(story: Story, warp: Warp, asked: Asked) {
    this.#story = story;
    const isFaulty = (): boolean =>
      this.#startedMs <= this.#clock.nowMs && this.#calmSince === Number.POSITIVE_INFINITY;
    const options = { story, clock: this.#clock, isFaulty, calmSince: () => this.#calmSince };
    this.#stage = setUp(story, this.#clock, cluster =>
      this.#audit.attach(cluster.registry.store, options),
    );
    const { cluster, cloud } = this.#stage;
    cluster.registry.store.subscribe(
      ({ version }) => void this.#versions.push({ at: this.#clock.nowMs, version }),
    );
    this.#world = {
      story,
      clock: this.#clock,
      cluster,
      cloud,
      audit: this.#audit,
      chance: seeded(story.seed + 7),
      warp,
      asked,
      isFaulty,
      versionBefore: milliseconds => this.#versionAt(this.#clock.nowMs - milliseconds),
      lies: this.#lies,
      sinceStart: () => this.#clock.nowMs - this.#startedMs,
      serve: (caller, call) => this.#serve(caller, call),
    };
  }

  #versionAt(ms: number): number {
    return this.#versions.findLast(one => one.at <= ms)?.version ?? 1;
  }

  async run(): Promise<Outcome> {
    this.#startedMs = this.#clock.nowMs + warmUpMs;
    this.#schedule();
    await this.#clock.advance(warmUpMs);
    this.#begin();
    await this.#clock.advance(this.#story.faultyMs);
    this.#calm();
    await this.#until('finishes', this.#patienceMs(), () => unfinished(this.#stage));
    this.#dismiss();
    await this.#until('finishes', endPatienceMs, () => {
      const left = endOf(this.#stage);
      // What was on its way at that moment may have come after it.
      if (left !== undefined) this.#dismiss();
      return left;
    });
    await this.#end();
    return this.#outcome();
  }

  #patienceMs(): number {
    const { length } = this.#stage.cluster.registry.store.list('nodes');
    return patienceMs + (this.#story.responders === undefined ? 0 : length * responderMs);
  }

  #outcome(): Outcome {
    const { violation, lines, calls } = this.#audit;
    const seconds = (this.#clock.nowMs - this.#clock.startMs) / 1000;
    return {
      violation,
      lines,
      digest: this.#audit.digest(),
      maintenances: countOf(this.#story),
      calls,
      seconds,
    };
  }

  async #end(): Promise<void> {
    this.#process?.kill();
    this.#stage.runtime.stop();
    this.#stage.cloud?.stop();
  }

  /** Until there is nothing more to wait for. */
  async #until(
    invariant: 'finishes',
    mostMs: number,
    missing: () => string | undefined,
  ): Promise<void> {
    const until = this.#clock.nowMs + mostMs;
    for (;;) {
      if (this.#audit.violation !== undefined) return;
      const what = missing();
      if (what === undefined) return;
      if (this.#clock.nowMs >= until) return this.#audit.fail(invariant, what);
      sweep({ stage: this.#stage, story: this.#story, clock: this.#clock });
      await this.#clock.advance(stepMs);
    }
  }

  /** Whatever was asked for is given up. */
  #dismiss(): void {
    const { writes, cluster } = this.#stage;
    // As long as the cloud is asked, what it announces comes again.
    const machines = [
      'machineeventsources.drydock.dev',
      'machinemaintenances.machinemaintenance.managed.openshift.io',
    ];
    const resources = [maintenancePlans, ...machines, ...Object.values(maintenanceResources)];
    for (const resource of resources) {
      for (const { metadata } of cluster.registry.store.list(resource))
        writes.remove(resource, metadata.namespace ?? '', metadata.name);
    }
  }

  #at(when: WhenInStory, task: () => void): void {
    const run = (): void => {
      if (this.#calmSince === Number.POSITIVE_INFINITY) task();
    };
    if ('atMs' in when) this.#clock.after(warmUpMs + when.atMs, run);
    else {
      const key = `${when.call} ${when.side}`;
      this.#triggers.set(key, [...(this.#triggers.get(key) ?? []), run]);
    }
  }

  #schedule(): void {
    const { deeds, ends, maintenances, plans, windows, clockSteps } = this.#story;
    const about = { stage: this.#stage, story: this.#story, clock: this.#clock };
    for (const { kind, pick, when } of deeds) {
      this.#at(when, () => {
        this.#audit.note(`somebody: ${kind}`);
        act(kind, pick, about);
      });
    }
    for (const end of ends) this.#at(end.when, () => this.#endProcess(end));
    for (const { kind, name, spec, atMs, deleteAtMs } of maintenances) {
      this.#at(
        { atMs },
        () => void this.#stage.make(maintenanceResources[kind], { metadata: { name }, spec }),
      );
      if (deleteAtMs !== undefined)
        this.#at(
          { atMs: deleteAtMs },
          () => void this.#stage.writes.remove(maintenanceResources[kind], '', name),
        );
    }
    for (const { name, spec, atMs, deleteAtMs, edits } of plans) {
      this.#at(
        { atMs },
        () => void this.#stage.make(maintenancePlans, { metadata: { name }, spec }),
      );
      for (const edit of edits)
        this.#at({ atMs: edit.atMs }, () => this.#edit(maintenancePlans, name, edit.spec));
      if (deleteAtMs !== undefined)
        this.#at(
          { atMs: deleteAtMs },
          () => void this.#stage.writes.remove(maintenancePlans, '', name),
        );
    }
    for (const { name, spec, atMs } of windows)
      this.#at(
        { atMs },
        () => void this.#stage.make('maintenancewindows.drydock.dev', { metadata: { name }, spec }),
      );
    for (const { atMs, byMs } of clockSteps)
      this.#at({ atMs }, () => this.#setClock(this.#ahead + byMs));
    this.#announce();
  }

  #edit(resource: string, name: string, spec: JsonObject): void {
    const found = this.#stage.cluster.registry.store.get(resource, '', name);
    if (found === undefined) return;
    const edited = Object.entries({ ...part(found, 'spec'), ...spec });
    // As in a merge patch, null takes a field away.
    const left = Object.fromEntries(edited.filter(([, value]) => value !== null));
    this.#stage.writes.update(resource, { ...found, spec: left });
  }

  #announce(): void {
    const { cloud } = this.#stage;
    for (const { atMs, pick, kind, inSeconds, cancelAfterMs, lies } of this.#story.machines
      ?.announcements ?? []) {
      this.#at({ atMs }, () => {
        const instances = this.#stage.cluster.registry.store
          .list('nodes')
          .flatMap(node => instanceOf(node) ?? []);
        const instance = instances[Math.floor(pick * instances.length)];
        if (instance === undefined || cloud === undefined) return;
        const id = cloud.announce(instance, { kind, inSeconds });
        if (lies) this.#lies.add(id);
        if (cancelAfterMs !== undefined) this.#clock.after(cancelAfterMs, () => cloud.cancel(id));
      });
    }
  }

  #setClock(aheadMs: number): void {
    this.#ahead = aheadMs;
    this.#process?.setClock(aheadMs);
  }

  #begin(): void {
    this.#processes += 1;
    this.#audit.note(`process ${this.#processes} begins`);
    this.#process = new Process(this.#world, this.#processes);
    this.#process.setClock(this.#ahead);
  }

  #endProcess({ how, pauseMs, lingersMs }: End): void {
    const process = this.#process;
    if (process === undefined) return;
    this.#audit.note(`process ${process.id} is ${how}`);
    this.#process = undefined;
    if (how === 'killed') process.kill();
    if (how === 'stopped') process.stop();
    if (how === 'fenced') {
      process.depose();
      this.#clock.after(lingersMs, () => process.stop());
    }
    // A process that is stopped or that has lost its lease ends what it has sent; the next one
    // leads after that.
    const pause = how === 'killed' ? pauseMs : pauseMs + 5000;
    this.#clock.after(pause, () => {
      if (how === 'stopped') process.kill();
      if (this.#process === undefined) this.#begin();
    });
  }

  #calm(): void {
    if (this.#audit.violation !== undefined) return;
    this.#audit.note('calm');
    this.#calmSince = this.#clock.nowMs;
    this.#setClock(0);
    this.#lies.clear();
    help({ stage: this.#stage, story: this.#story, clock: this.#clock });
  }

  #fire(side: 'before' | 'after', number: number): void {
    for (const task of this.#triggers.get(`${number} ${side}`) ?? []) task();
  }

  async #serve(caller: Caller, call: ApiCall): Promise<ApiResponse> {
    this.#served += 1;
    const number = this.#served;
    this.#fire('before', number);
    if (!caller.isAlive()) return never();
    const served = this.#audit.before(caller, call);
    const response = await this.#world.cluster.respond({
      method: call.method,
      path: call.path,
      query: new Map(
        Object.entries(call.query ?? {}).flatMap(([key, value]) =>
          value === undefined ? [] : [[key, String(value)] as const],
        ),
      ),
      accept: call.accept ?? 'application/json',
      contentType: call.contentType ?? 'application/json',
      userAgent: 'drydock',
      body: call.body === undefined ? { kind: 'none' } : { kind: 'json', value: call.body },
    });
    if (response.kind === 'watch') throw new Error(`${call.path} is a watch: it is not called`);
    const answer = { status: response.status, headers: response.headers, body: response.body };
    this.#audit.after(served, answer);
    this.#fire('after', number);
    return answer;
  }
}

function instanceOf(node: { readonly [key: string]: unknown }): string | undefined {
  const { spec } = node as { readonly spec?: { readonly providerID?: string } };
  return spec?.providerID?.startsWith('aws:') === true
    ? spec.providerID.split('/').at(-1)
    : undefined;
}

/** Plays a story from its beginning to its end, or to the first thing that must not be. */
export function play(
  story: Story,
  warp: Warp = api => api,
  asked: Asked = () => {},
): Promise<Outcome> {
  return new Play(story, warp, asked).run();
}
