import { groupBlockers } from '@drydock/core/drain';
import type { Delta, MachineView, NodeSummary, PlanSummary } from '../../src/scene.ts';
import { kindsOf, phaseOf } from './machine-words.ts';
import { planBadge } from './plan-words.ts';
import type { Move } from './pod-moves.ts';
import { nameOf, nodeBadge, plural } from './words.ts';

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
  const told = new Set(blockersOf(before).map(({ message }) => message));
  const blockers = blockersOf(node)
    .filter(({ message }) => !told.has(message))
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
