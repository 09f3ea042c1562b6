import { groupBlockers } from '@drydock/core/drain';
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type {
  Delta,
  MachineView,
  NodeSummary,
  PlanSummary,
  PodCountsView,
  PodView,
} from '../../src/scene.ts';
import { kindsOf, nameOf, nodeBadge, phaseOf, planBadge, plural } from './words.ts';

/** Collator that compares numbers in names by value. */
export const collator = new Intl.Collator('en', { numeric: true });

/** Milliseconds for which departures are remembered. */
const memoryMs = 90_000;

/** A pod that takes the place of another one elsewhere. */
export type Move = { readonly pod: PodView; readonly fromUid: string; readonly fromNode: string };

type Departure = { readonly uid: string; readonly node: string; readonly at: number };

/**
 * Detects moves: a pod is never moved, but ends, and its workload gets another one, which users see
 * as a move.
 */
class PodMoves {
  readonly #departures = new Map<string, Departure[]>();

  /** Records a pod that terminates, or is gone. */
  departs({ workload, uid, node }: PodView, nowMs: number): void {
    if (node === '') return;
    const known = (this.#departures.get(workload) ?? []).filter(({ at }) => nowMs - at < memoryMs);
    if (!known.some(departure => departure.uid === uid)) known.push({ uid, node, at: nowMs });
    this.#departures.set(workload, known);
  }

  /**
   * Records a pod on its node; returns the move if it takes the place of one that has departed from
   * another node.
   */
  arrives(pod: PodView, nowMs: number): Move | undefined {
    const known = this.#departures.get(pod.workload) ?? [];
    const index = known.findIndex(({ node, at }) => node !== pod.node && nowMs - at < memoryMs);
    const [departure] = index === -1 ? [] : known.splice(index, 1);
    if (known.length === 0) this.#departures.delete(pod.workload);
    return departure && { pod, fromUid: departure.uid, fromNode: departure.node };
  }

  forget(): void {
    this.#departures.clear();
  }
}

function byWorkload(one: PodView, other: PodView): number {
  return (
    Number(one.stays) - Number(other.stays) ||
    collator.compare(one.workload, other.workload) ||
    collator.compare(one.key, other.key)
  );
}

const noPods: readonly PodView[] = [];

/** Returns the sum of a node's counted pods. */
export function podTotal(counts: PodCountsView | undefined): number {
  const { running = 0, starting = 0, leaving = 0, pending = 0, done = 0 } = counts ?? {};
  return running + starting + leaving + pending + done;
}

/** Pods of the dashboard, as signals by node: each of them, or in a large cluster their counts. */
export class Pods {
  /** Number of all pods, whether listed or counted. */
  readonly count = signal(0);
  readonly #on = new Map<string, Signal<readonly PodView[]>>();
  readonly #pods = new Map<string, PodView>();
  readonly #counts = new Map<string, PodCountsView>();
  readonly #countsOn = new Map<string, Signal<PodCountsView | undefined>>();
  readonly #moves = new PodMoves();
  readonly #now: () => number;
  readonly #moved: (move: Move) => void;
  /** Number of the counted pods. */
  #counted = 0;

  constructor(now: () => number, moved: (move: Move) => void) {
    this.#now = now;
    this.#moved = moved;
  }

  /**
   * Returns the pods of a node, those of one workload together; for the empty name, the unscheduled
   * ones.
   */
  on(node: string): ReadonlySignal<readonly PodView[]> {
    return this.#podsSignal(node);
  }

  /**
   * Returns the counts of a node; undefined where its pods are listed, and where there are none.
   */
  countsOn(node: string): ReadonlySignal<PodCountsView | undefined> {
    return this.#countsSignal(node);
  }

  keys(): ReadonlyMap<string, PodView> {
    return this.#pods;
  }

  countedNodes(): ReadonlyMap<string, PodCountsView> {
    return this.#counts;
  }

  /** Forgets departures before another scene arrives: its pods take no other's place. */
  forgetMoves(): void {
    this.#moves.forget();
  }

  /** Shows requested pods of a node until the next update. */
  show(node: string, pods: readonly PodView[]): void {
    this.#podsSignal(node).value = pods.toSorted(byWorkload);
  }

  /** Applies changes; returns the moves. */
  apply(pods: readonly PodView[], gone: readonly string[]): readonly Move[] {
    const touched = new Map<string, Map<string, PodView>>();
    const on = (node: string): Map<string, PodView> => {
      const known =
        touched.get(node) ??
        new Map(
          this.#podsSignal(node)
            .peek()
            // Without those that were only requested.
            .filter(({ key }) => this.#pods.has(key))
            .map(pod => [pod.key, pod]),
        );
      touched.set(node, known);
      return known;
    };
    const arrived: PodView[] = [];
    const drop = (key: string): PodView | undefined => {
      const before = this.#pods.get(key);
      if (before === undefined) return undefined;
      on(before.node).delete(key);
      this.#pods.delete(key);
      return before;
    };
    for (const key of gone) this.#depart(drop(key));
    for (const pod of pods) {
      const before = drop(pod.key);
      if (before !== undefined && (before.uid !== pod.uid || pod.phase === 'leaving'))
        this.#depart(before);
      if (pod.node !== '' && (before === undefined || before.uid !== pod.uid || before.node === ''))
        arrived.push(pod);
      this.#pods.set(pod.key, pod);
      on(pod.node).set(pod.key, pod);
    }
    const moves = arrived.flatMap(pod => this.#moves.arrives(pod, this.#now()) ?? []);
    for (const move of moves) this.#moved(move);
    for (const [node, known] of touched)
      this.#podsSignal(node).value = [...known.values()].sort(byWorkload);
    this.#total();
    return moves;
  }

  /** Applies changes for nodes whose pods are counted. */
  applyCounts(counts: readonly PodCountsView[], gone: readonly string[]): void {
    for (const key of gone) this.#setCounts(key, undefined);
    for (const view of counts) this.#setCounts(view.key, view);
    this.#total();
  }

  #total(): void {
    this.count.value = this.#pods.size + this.#counted;
  }

  #setCounts(node: string, counts: PodCountsView | undefined): void {
    this.#counted += podTotal(counts) - podTotal(this.#counts.get(node));
    if (counts === undefined) this.#counts.delete(node);
    else this.#counts.set(node, counts);
    const shown = this.#countsOn.get(node);
    if (shown !== undefined) shown.value = counts;
  }

  #depart(pod: PodView | undefined): void {
    if (pod !== undefined) this.#moves.departs(pod, this.#now());
  }

  #podsSignal(node: string): Signal<readonly PodView[]> {
    const known = this.#on.get(node) ?? signal(noPods);
    this.#on.set(node, known);
    return known;
  }

  #countsSignal(node: string): Signal<PodCountsView | undefined> {
    const known = this.#countsOn.get(node) ?? signal(this.#counts.get(node));
    this.#countsOn.set(node, known);
    return known;
  }
}

/** Changes that this page has seen, in words. Pure. */

export type ActivityItem = {
  readonly key: string;
  /** Time of the change in RFC 3339. */
  readonly at: string;
  readonly about: string;
  readonly text: string;
  readonly warning: boolean;
  /** Whether a screen reader announces it; moving pods are too many for that. */
  readonly loud: boolean;
  /** Whether Drydock records it as an Event too: a time line with Events need not repeat it. */
  readonly recorded: boolean;
};

const numbers = { next: 0 };

function line(
  at: string,
  about: string,
  text: string,
  { warning = false, loud = true, recorded = false } = {},
): ActivityItem {
  numbers.next += 1;
  return { key: `news-${numbers.next}`, at, about, text, warning, loud, recorded };
}

function blockersOf(node: NodeSummary | undefined): ReturnType<typeof groupBlockers> {
  return groupBlockers(
    (node?.holds ?? []).flatMap(({ blockers }) => blockers.filter(({ stuck }) => stuck)),
  );
}

const stories: Readonly<Record<string, string>> = {
  draining: 'is being drained',
  held: 'is out of service',
  returning: 'is coming back',
  service: 'is back in service',
  failed: 'could not be drained',
  cordoned: 'is cordoned',
  unready: 'is not ready',
};

/** Changes for which the operator creates Events. */
const recorded: ReadonlySet<string> = new Set(['draining', 'held', 'returning', 'failed']);

function oneNode(
  before: NodeSummary | undefined,
  node: NodeSummary,
  at: string,
): readonly ActivityItem[] {
  if (before === undefined)
    return node.missing ? [] : [line(at, node.key, 'has joined the cluster')];
  const known = new Set(blockersOf(before).map(({ message }) => message));
  const blockers = blockersOf(node)
    .filter(({ message }) => !known.has(message))
    .map(({ message, whats }) =>
      line(at, node.key, `${plural(whats.length, 'pod is', 'pods are')} blocked: ${message}`, {
        warning: true,
      }),
    );
  const tone = nodeBadge(node).tone;
  if (nodeBadge(before).tone === tone) return blockers;
  if (node.replaced)
    return [line(at, node.key, 'is gone: its machine is being replaced'), ...blockers];
  const story = stories[tone];
  return story === undefined
    ? blockers
    : [
        line(at, node.key, story, {
          warning: tone === 'failed' || tone === 'unready',
          recorded: recorded.has(tone),
        }),
        ...blockers,
      ];
}

/** Returns the changes of nodes. */
export function nodeNews(
  before: ReadonlyMap<string, NodeSummary | undefined>,
  { nodes = [], gone = {} }: Delta,
  at: string,
): readonly ActivityItem[] {
  return [
    ...nodes.flatMap(node => oneNode(before.get(node.key), node, at)),
    ...(gone.nodes ?? []).map(key =>
      line(at, key, 'has been removed from the cluster', { warning: true }),
    ),
  ];
}

/**
 * Returns new events of machines, and their progress. Every change of phase is an Event of the
 * operator too.
 */
export function machineNews(
  before: ReadonlyMap<string, MachineView>,
  { machines = [] }: Delta,
  at: string,
): readonly ActivityItem[] {
  return machines.flatMap(machine => {
    const known = before.get(machine.key);
    const about = machine.node ?? machine.machine;
    const warning = machine.phase === 'AwaitingApproval';
    if (known === undefined)
      return machine.over
        ? []
        : line(at, about, `announced for its machine: ${kindsOf(machine)}`, { warning: true });
    if (known.phase === machine.phase) return [];
    return line(at, about, `${kindsOf(machine)}: ${phaseOf(machine)}`, { warning, recorded: true });
  });
}

/** Returns the changes of plans. Every change of phase is an Event of the operator too. */
export function planNews(
  before: ReadonlyMap<string, PlanSummary>,
  { plans = [] }: Delta,
  at: string,
): readonly ActivityItem[] {
  return plans.flatMap(plan => {
    const known = before.get(plan.key);
    if (known === undefined || known.phase === plan.phase) return [];
    const warning = plan.phase === 'Halted' || plan.phase === 'AwaitingApproval';
    return line(at, `plan ${plan.key}`, planBadge(plan).word.toLowerCase(), {
      warning,
      recorded: true,
    });
  });
}

/** Returns the moves of pods: one line for those of a workload between the same nodes. */
export function podNews(moves: readonly Move[], at: string): readonly ActivityItem[] {
  const groups = Map.groupBy(moves, ({ pod, fromNode }) =>
    JSON.stringify([pod.workload, fromNode, pod.node]),
  );
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { pod, fromNode } = first;
    const times = more.length > 0 ? ` (${more.length + 1} pods)` : '';
    return line(at, fromNode, `${nameOf(pod.workload)} moves to ${pod.node}${times}`, {
      loud: false,
    });
  });
}
