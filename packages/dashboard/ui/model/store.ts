import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type {
  BudgetView,
  DashboardInfo,
  Delta,
  MachineView,
  MomentView,
  NodeSummary,
  PlanSummary,
  Scene,
  WindowView,
  WorkloadView,
} from '../../src/scene.ts';
import {
  type ActivityItem,
  collator,
  type Move,
  machineNews,
  nodeNews,
  Pods,
  planNews,
  podNews,
} from './pods.ts';
import { isControlPlane } from './words.ts';

function byName(one: { readonly key: string }, other: { readonly key: string }): number {
  return collator.compare(one.key, other.key);
}

/** Compares nodes: control plane first, then by name, with numbers by value. */
function byRank(one: NodeSummary, other: NodeSummary): number {
  return Number(isControlPlane(other)) - Number(isControlPlane(one)) || byName(one, other);
}

/** Compares plans: those that are over come last. */
function byEnd(one: PlanSummary, other: PlanSummary): number {
  return Number(isOver(one)) - Number(isOver(other)) || byName(one, other);
}

function isOver({ phase }: PlanSummary): boolean {
  return phase === 'Complete' || phase === 'Aborted';
}

/** Compares lows: the lowest share first, and more replicas first among equal shares. */
function byLow({ lowest: one }: WorkloadView, { lowest: other }: WorkloadView): number {
  return one.ready / one.replicas - other.ready / other.replicas || other.replicas - one.replicas;
}

export type Zone = { readonly zone: string; readonly nodes: readonly string[] };

/** Limit of lines that the dashboard has seen; the server keeps its own events. */
const maxNews = 150;

const noMachines: readonly MachineView[] = [];

/**
 * State of the dashboard, as signals: each part of the page is notified only of its own changes.
 */
export class DashboardStore {
  readonly facts = signal<DashboardInfo | undefined>(undefined);
  /** Nodes: control plane first, then by name. */
  readonly nodes = signal<readonly NodeSummary[]>([]);
  readonly zones = signal<readonly Zone[]>([]);
  /** Nodes with maintenances, the longest held first. */
  readonly held = signal<readonly NodeSummary[]>([]);
  readonly budgets = signal<readonly BudgetView[]>([]);
  readonly moments = signal<readonly MomentView[]>([]);
  /** Machine maintenances that are not over, the longest known first. */
  readonly machines = signal<readonly MachineView[]>([]);
  readonly windows = signal<readonly WindowView[]>([]);
  /** Plans by name, those that are over last. */
  readonly plans = signal<readonly PlanSummary[]>([]);
  /** News, newest first. */
  readonly news = signal<readonly ActivityItem[]>([]);
  /** Workloads that have been low, the worst first. */
  readonly lows = signal<readonly WorkloadView[]>([]);
  readonly pods: Pods;
  readonly #nodes = new Map<string, Signal<NodeSummary | undefined>>();
  readonly #lows = new Map<string, WorkloadView>();
  readonly #machines = new Map<string, MachineView>();
  readonly #machinesOn = new Map<string, Signal<readonly MachineView[]>>();
  readonly #windows = new Map<string, WindowView>();
  readonly #plans = new Map<string, PlanSummary>();
  readonly #budgets = new Map<string, BudgetView>();
  readonly #moments = new Map<string, MomentView>();
  readonly #now: () => number;
  /** Names of nodes in the order shown. */
  #order: readonly string[] = [];
  #isDisordered = false;

  /**
   * Creates the store; `moved` receives each pod that takes the place of another, before the
   * dashboard shows it.
   */
  constructor(now: () => number, moved: (move: Move) => void) {
    this.#now = now;
    this.pods = new Pods(now, moved);
  }

  /** Returns a signal for a node; its value is undefined while the node does not exist. */
  node(key: string): ReadonlySignal<NodeSummary | undefined> {
    return this.#nodeSignal(key);
  }

  /** Returns the events of a node's machine that are not over. */
  machinesOn(node: string): ReadonlySignal<readonly MachineView[]> {
    const known = this.#machinesOn.get(node) ?? signal(noMachines);
    this.#machinesOn.set(node, known);
    return known;
  }

  nodeCount(): number {
    return this.nodes.value.length;
  }

  /** Replaces the whole state. */
  replace(scene: Scene): void {
    const gone = <V>(
      map: ReadonlyMap<string, V>,
      now: readonly { readonly key: string }[],
    ): readonly string[] => {
      const there = new Set(now.map(({ key }) => key));
      return [...map.keys()].filter(key => !there.has(key));
    };
    this.pods.forgetMoves();
    const nodes = new Map(
      [...this.#nodes].flatMap(([key, { value }]) =>
        value === undefined ? [] : [[key, value] as const],
      ),
    );
    this.#apply({
      ...scene,
      gone: {
        nodes: gone(nodes, scene.nodes),
        pods: gone(this.pods.keys(), scene.pods),
        counts: gone(this.pods.countedNodes(), scene.counts),
        lows: gone(this.#lows, scene.lows),
        budgets: gone(this.#budgets, scene.budgets),
        moments: gone(this.#moments, scene.moments),
        machines: gone(this.#machines, scene.machines),
        windows: gone(this.#windows, scene.windows),
        plans: gone(this.#plans, scene.plans),
      },
    });
  }

  /** Applies changes, and adds news about them. */
  apply(delta: Delta): void {
    const at = new Date(this.#now()).toISOString();
    const before = new Map(
      (delta.nodes ?? []).map(({ key }) => [key, this.#nodeSignal(key).peek()]),
    );
    const [machines, plans] = [new Map(this.#machines), new Map(this.#plans)];
    const isRead = this.facts.peek()?.loading.length === 0;
    batch(() => {
      const moves = this.#apply(delta);
      const lines = isRead
        ? [
            ...planNews(plans, delta, at),
            ...machineNews(machines, delta, at),
            ...nodeNews(before, delta, at),
            ...podNews(moves, at),
          ]
        : [];
      if (lines.length > 0)
        this.news.value = [...lines.reverse(), ...this.news.value].slice(0, maxNews);
    });
  }

  #apply(delta: Delta): readonly Move[] {
    const {
      facts,
      nodes = [],
      pods = [],
      counts = [],
      lows = [],
      budgets = [],
      moments = [],
    } = delta;
    const { machines = [], windows = [], plans = [], gone = {} } = delta;
    return batch(() => {
      if (facts !== undefined) this.facts.value = facts;
      this.#applyNodes(nodes, gone.nodes ?? []);
      put(this.#budgets, budgets, gone.budgets, all => {
        this.budgets.value = [...all].sort(byName);
      });
      put(this.#moments, moments, gone.moments, all => {
        this.moments.value = [...all].sort((one, other) =>
          one.at < other.at ? 1 : one.at > other.at ? -1 : byName(other, one),
        );
      });
      put(this.#windows, windows, gone.windows, all => {
        this.windows.value = [...all].sort(byName);
      });
      put(this.#plans, plans, gone.plans, all => {
        this.plans.value = [...all].sort(byEnd);
      });
      put(this.#machines, machines, gone.machines, all =>
        this.#showMachines([...all].filter(({ over }) => !over)),
      );
      put(this.#lows, lows, gone.lows, all => {
        this.lows.value = [...all].sort(byLow);
      });
      if (counts.length > 0 || gone.counts !== undefined)
        this.pods.applyCounts(counts, gone.counts ?? []);
      return pods.length > 0 || gone.pods !== undefined
        ? this.pods.apply(pods, gone.pods ?? [])
        : [];
    });
  }

  /**
   * Arranges nodes, zones and holds. Sorts only when nodes were added or removed, because many
   * names take time.
   */
  #arrange(): void {
    if (this.#isDisordered) this.#sort();
    const nodes = this.#order.flatMap(key => this.#nodeSignal(key).peek() ?? []);
    const sinceOf = ({ holds }: NodeSummary): string => holds[0]?.since ?? '';
    this.nodes.value = nodes;
    this.held.value = nodes
      .filter(({ holds }) => holds.length > 0)
      .sort((one, other) =>
        sinceOf(one) < sinceOf(other) ? -1 : Number(sinceOf(one) > sinceOf(other)),
      );
  }

  #sort(): void {
    const nodes = [...this.#nodes.values()].flatMap(signal => signal.peek() ?? []).sort(byRank);
    const zones = Map.groupBy(nodes, ({ zone }) => zone);
    this.#order = nodes.map(({ key }) => key);
    this.#isDisordered = false;
    this.zones.value = [...zones]
      .map(([zone, nodes]) => ({ zone, nodes: nodes.map(({ key }) => key) }))
      .sort((one, other) => collator.compare(one.zone, other.zone));
  }

  #applyNodes(nodes: readonly NodeSummary[], gone: readonly string[]): void {
    for (const node of nodes) {
      const known = this.#nodeSignal(node.key);
      const before = known.peek();
      if (
        before === undefined ||
        before.zone !== node.zone ||
        isControlPlane(before) !== isControlPlane(node)
      )
        this.#isDisordered = true;
      known.value = node;
    }
    for (const key of gone) {
      this.#nodeSignal(key).value = undefined;
      this.#isDisordered = true;
    }
    if (nodes.length > 0 || gone.length > 0) this.#arrange();
  }

  #showMachines(all: readonly MachineView[]): void {
    const machines = all.toSorted(
      (one, other) => collator.compare(one.since, other.since) || byName(one, other),
    );
    this.machines.value = machines;
    const byNode = Map.groupBy(machines, ({ node = '' }) => node);
    for (const node of byNode.keys()) this.machinesOn(node);
    for (const [node, shown] of this.#machinesOn) {
      const now = byNode.get(node) ?? noMachines;
      if (now.length > 0 || shown.peek().length > 0) shown.value = now;
    }
  }

  #nodeSignal(key: string): Signal<NodeSummary | undefined> {
    const known = this.#nodes.get(key) ?? signal<NodeSummary | undefined>(undefined);
    this.#nodes.set(key, known);
    return known;
  }
}

function put<V extends { readonly key: string }>(
  map: Map<string, V>,
  changed: readonly V[],
  gone: readonly string[] = [],
  show: (all: Iterable<V>) => void,
): void {
  if (changed.length === 0 && gone.length === 0) return;
  for (const view of changed) map.set(view.key, view);
  for (const key of gone) map.delete(key);
  show(map.values());
}

/** One server-sent event. */
export type Message = { readonly event: string; readonly id: string; readonly data: string };

/**
 * Parses server-sent events from the chunks of a stream: EventSource cannot send a header with the
 * token.
 */
export class MessageReader {
  /**
   * Chunks of an incomplete message: joined only when it is complete, because a scene comes in very
   * many chunks.
   */
  #held: string[] = [];

  /**
   * Returns the messages that this chunk completes. Ignores comments, which are only heartbeats.
   */
  read(piece: string): readonly Message[] {
    if (piece === '') return [];
    const completes =
      piece.includes('\n\n') ||
      (piece.startsWith('\n') && (this.#held.at(-1) ?? '').endsWith('\n'));
    this.#held.push(piece);
    if (!completes) return [];
    const blocks = this.#held.join('').split('\n\n');
    this.#held = [blocks.pop() ?? ''];
    return blocks.flatMap(block => {
      const fields = new Map(
        block
          .split('\n')
          .map(text => [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 2)]),
      );
      const data = fields.get('data');
      return data === undefined
        ? []
        : [{ event: fields.get('event') ?? 'message', id: fields.get('id') ?? '', data }];
    });
  }
}
