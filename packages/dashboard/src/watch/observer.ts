import { readBudget } from '@drydock/core/drain';
import { blockersNow } from '@drydock/core/maintenance';
import { type Node, readNode } from '@drydock/core/node';
import { type Pod, readPod } from '@drydock/core/pod';
import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import { isDraining } from '@drydock/core/request';
import type { CachedObject, Change, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { creatableKind } from '../actions/actions.ts';
import type {
  AccessKind,
  BudgetView,
  DashboardInfo,
  Delta,
  DrainPreview,
  NodeSummary,
  PodView,
  Scene,
} from '../scene.ts';
import { Moments, readTimelineEvent, type TimelineEvent, ViewStore } from '../views/timeline.ts';
import { budgetView, holdView, missingNodeView, nodeView, outlookOf } from '../views/views.ts';
import { Collections, ObjectIndex, PodWatch } from './collections.ts';
import { type MachineClient, MachineWatch, type PlanClient, PlanWatch } from './plan-watch.ts';

/** Milliseconds between batches: faster than this, no user can follow. */
const batchMs = 100;
/** Milliseconds between batches for a cluster whose pods are counted: it changes all the time. */
const countedBatchMs = 250;

export type ObserverOptions = {
  readonly watcher: Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Reader of machine maintenances; they are not watched when left out. */
  readonly machines?: MachineClient;
  /** Reader of plans; they are not watched when left out. */
  readonly plans?: PlanClient;
  /** Whether the machines are simulated. */
  readonly simulated?: boolean;
  readonly access: AccessKind;
  readonly cluster: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

/**
 * Callback for changes; without a delta the scene must be sent again, because pods are now counted,
 * or listed again.
 */
type Listener = (revision: number, delta: Delta | undefined) => void;

type Wanted = CachedObject & { readonly request: MaintenanceRequest };

const budgetsPath = '/apis/policy/v1/poddisruptionbudgets';

/**
 * Watches the cluster and keeps the scene; listeners receive the changes since the last revision,
 * in batches.
 */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #objectIndex = new ObjectIndex();
  readonly #nodes = new ViewStore<NodeSummary>();
  readonly #pods = new PodWatch(this.#objectIndex);
  readonly #budgets = new ViewStore<BudgetView>();
  readonly #moments = new Moments();
  readonly #machines = new MachineWatch(node => this.#stale.add(node));
  readonly #plans: PlanWatch;
  readonly #collections: Collections;
  readonly #stale = new Set<string>();
  readonly #listeners = new Set<Listener>();
  /** Facts as last sent: the collections that they call read are in the scene by then. */
  #facts: DashboardInfo;
  #revision = 0;
  #running = false;
  #cancel: (() => void) | undefined;

  constructor(options: ObserverOptions) {
    this.#options = options;
    this.#plans = new PlanWatch(options.clock, () => this.#redraw());
    this.#collections = new Collections(options.watcher, options.clock, () => this.#soon());
    this.#facts = this.#factsNow();
  }

  get revision(): number {
    return this.#revision;
  }

  /** Watches everything until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#running = true;
    const { adapters, machines, plans } = this.#options;
    const components = [...new Set(adapters.map(({ component }) => component))];
    const follow = <T extends CachedObject>(
      what: string,
      path: string,
      project: (raw: unknown) => T | undefined,
      onChange: (change: Change<T>) => void,
    ): Promise<void> =>
      this.#collections.follow({ what, collection: { path }, project, onChange }, signal);
    await Promise.all([
      follow('nodes', '/api/v1/nodes', readNode, change => this.#nodeTold(change)),
      follow('pods', '/api/v1/pods', readPod, change => this.#podTold(change)),
      follow('disruption budgets', budgetsPath, readBudget, change => this.#budgetTold(change)),
      ...adapters.map(adapter => this.#followKind(adapter, signal)),
      ...components.map(component => this.#followEvents(component, signal)),
      ...(machines ? [this.#machines.run(this.#collections, machines, signal)] : []),
      ...(plans ? [this.#plans.run(this.#collections, plans, signal)] : []),
    ]);
    this.#cancel?.();
    this.#collections.stop();
  }

  /** Adds a listener of all following batches. Returns a function that removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Returns the whole current scene. Changes newer than the revision are repeated in the next
   * delta, which has no effect.
   */
  scene(): Scene {
    return {
      facts: this.#facts,
      nodes: this.#nodes.values(),
      pods: this.#pods.pods.values(),
      counts: this.#pods.counts.values(),
      lows: this.#pods.lows.values(),
      budgets: this.#budgets.values(),
      machines: this.#machines.machines.values(),
      windows: this.#machines.windows.values(),
      plans: this.#plans.plans.values(),
      moments: this.#moments.newest(),
    };
  }

  /** Returns a maintenance that exists now. */
  find(store: string, namespace: string | undefined, name: string): MaintenanceRequest | undefined {
    return this.#objectIndex.requests.get(`${store}/${namespace ?? ''}/${name}`);
  }

  /** Returns a machine maintenance that exists now, by `namespace/name`. */
  findMachine(key: string): ReturnType<MachineWatch['find']> {
    return this.#machines.find(key);
  }

  /** Returns a plan that exists now. */
  findPlan(name: string, uid: string): ReturnType<PlanWatch['find']> {
    return this.#plans.find(name, uid);
  }

  /** Returns the pods of a node, one by one. */
  podsOn(node: string): readonly PodView[] {
    return this.#pods.on(node);
  }

  hasNode(name: string): boolean {
    return this.#objectIndex.nodes.get(name) !== undefined;
  }

  outlook(node: string, choice: Parameters<typeof outlookOf>[2]): DrainPreview {
    return outlookOf(
      node,
      this.#objectIndex.drainInputsAt(node),
      choice,
      this.#options.clock.now(),
    );
  }

  /** Returns the kind of new maintenances; undefined when none is served. */
  maker(): KindAdapter | undefined {
    return creatableKind(
      this.#options.adapters.filter(({ name }) => !this.#collections.lacks(name)),
    );
  }

  #factsNow(): DashboardInfo {
    const maker = this.maker();
    return {
      access: this.#options.access,
      cluster: this.#options.cluster,
      ...(maker && { makes: maker.kind as 'Maintenance' | 'NodeMaintenance' }),
      ...(this.#options.simulated === true && { simulated: true }),
      ...(this.#pods.isCounted && { counted: true }),
      loading: this.#running ? this.#collections.loading : ['everything'],
      unreadable: this.#collections.unreadable,
    };
  }

  #followKind(adapter: KindAdapter, signal: AbortSignal): Promise<void> {
    const project = (raw: unknown): Wanted | undefined => {
      const request = adapter.read(raw);
      if (typeof request === 'string') return undefined;
      return {
        key: request.key,
        uid: request.uid,
        resourceVersion: request.resourceVersion,
        request,
      };
    };
    const onChange = (change: Change<Wanted>): void => this.#onRequest(change);
    const { name: what, path } = adapter;
    return this.#collections.follow(
      { what, collection: { path }, project, onChange, mayLack: true },
      signal,
    );
  }

  #followEvents(component: string, signal: AbortSignal): Promise<void> {
    const collection = { path: '/api/v1/events', fieldSelector: `reportingComponent=${component}` };
    const onChange = (change: Change<TimelineEvent>): void => this.#moments.apply(change);
    return this.#collections.follow(
      { what: 'events', collection, project: readTimelineEvent, onChange },
      signal,
    );
  }

  #nodeTold(change: Change<Node>): void {
    for (const name of this.#objectIndex.nodes.apply(change)) this.#stale.add(name);
  }

  #podTold(change: Change<Pod>): void {
    for (const node of this.#pods.onChange(change)) this.#judgeAgain(node);
  }

  #budgetTold(change: Change<ReturnType<typeof readBudget>>): void {
    this.#objectIndex.budgets.apply(change);
    if (change.type === 'removed') this.#budgets.drop(change.object.key);
    else this.#budgets.put(budgetView(change.object));
    for (const node of this.#objectIndex.requests.groups()) this.#judgeAgain(node);
  }

  #onRequest(change: Change<Wanted>): void {
    const object = { ...change.object.request };
    for (const node of this.#objectIndex.requests.apply({
      type: change.type === 'removed' ? 'removed' : 'added',
      object,
    }))
      this.#stale.add(node);
  }

  /** Marks all nodes as changed: the plans of nodes may be others. */
  #redraw(): void {
    for (const { name } of this.#objectIndex.nodes.values()) this.#stale.add(name);
  }

  /** Marks a node after changes of its pods or budgets, which matter if a drain depends on them. */
  #judgeAgain(node: string): void {
    if (this.#objectIndex.requests.in(node).some(isDraining)) this.#stale.add(node);
  }

  /**
   * Draws a node and catches errors, because this runs in a timer: one faulty node must neither end
   * the process nor block the others.
   */
  #drawSafely(name: string): void {
    try {
      this.#draw(name);
    } catch (error) {
      this.#options.defects.report('Process', `dashboard of ${name}`, error);
    }
  }

  #draw(name: string): void {
    const node = this.#objectIndex.nodes.get(name);
    const requests = this.#objectIndex.requestsOn(name);
    if (node === undefined && requests.length === 0) return void this.#nodes.drop(name);
    const draining = requests.some(isDraining);
    const drainInputs = draining ? this.#objectIndex.drainInputsAt(name) : undefined;
    const now = this.#options.clock.now();
    const holds = requests.map(request =>
      holdView(
        request,
        drainInputs && isDraining(request) ? blockersNow(request, drainInputs, now) : [],
      ),
    );
    const zone = this.#nodes.get(name)?.zone ?? '';
    const view =
      node === undefined
        ? missingNodeView(name, holds, this.#machines.isWorkedOn(name), zone)
        : nodeView(node, holds, this.#plans.planOf(node));
    this.#nodes.put(view);
  }

  #soon(): void {
    this.#cancel ??= this.#options.clock.after(
      this.#pods.isCounted ? countedBatchMs : batchMs,
      () => {
        this.#cancel = undefined;
        this.#flush();
      },
    );
  }

  #flush(): void {
    for (const name of this.#stale) this.#drawSafely(name);
    this.#stale.clear();
    const isTurned = this.#pods.settle(this.#options.clock.now());
    const delta = this.#delta();
    if (Object.keys(delta).length === 0) return;
    this.#revision += 1;
    for (const listener of this.#listeners) listener(this.#revision, isTurned ? undefined : delta);
  }

  #delta(): Delta {
    const taken = {
      nodes: this.#nodes.take(),
      pods: this.#pods.pods.take(),
      counts: this.#pods.counts.take(),
      lows: this.#pods.lows.take(),
      budgets: this.#budgets.take(),
      machines: this.#machines.machines.take(),
      windows: this.#machines.windows.take(),
      plans: this.#plans.plans.take(),
      moments: this.#moments.take(),
    };
    const parts = Object.entries(taken);
    const changed = Object.fromEntries(
      parts.flatMap(([what, { changed }]) => (changed.length > 0 ? [[what, changed]] : [])),
    );
    const gone = Object.fromEntries(
      parts.flatMap(([what, { gone }]) => (gone.length > 0 ? [[what, gone]] : [])),
    );
    const facts = this.#factsNow();
    const isNews = JSON.stringify(facts) !== JSON.stringify(this.#facts);
    this.#facts = facts;
    return { ...(isNews && { facts }), ...changed, ...(Object.keys(gone).length > 0 && { gone }) };
  }
}
