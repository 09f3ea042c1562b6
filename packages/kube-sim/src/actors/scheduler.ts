import { fitsSelector, fitsTerms } from '@drydock/apimachinery';
import { isFinished, nodeOf } from '../controllers/controller.ts';
import { picks } from '../controllers/selectors.ts';
import { at, objects, type Stored, text } from '../object.ts';
import {
  domain,
  fits,
  lacking,
  type NodeInfo,
  placeOf,
  preference,
  termPicks,
  toleratesAll,
  untolerated,
} from './node-info.ts';
import type { SchedulingCycle } from './scheduling-cycle.ts';

/** A scheduler: filters, then scores (k8s.io/kubernetes/pkg/scheduler), without preemption. */

/**
 * Reasons why a pod does not fit a node, in the scheduler's words, and whether it would fit without
 * other pods (Unschedulable).
 */
type Obstacle = { readonly reasons: readonly string[]; readonly yields: boolean };

function firm(reason: string): Obstacle {
  return { reasons: [reason], yields: false };
}
function yielding(...reasons: readonly string[]): Obstacle {
  return { reasons, yields: true };
}

/** Returns whether the pod's anti-affinity excludes the node. */
function keepsAway({ node }: NodeInfo, round: SchedulingCycle): boolean {
  return round.constraints.apart.some(term =>
    round.isIn(term, domain(node, text(term, 'topologyKey'))),
  );
}

/** Returns whether the anti-affinity of existing pods excludes the node. */
function keptAway({ node }: NodeInfo, { keepers }: SchedulingCycle): boolean {
  return keepers.some(([key, domains]) => {
    const here = domain(node, key);
    return here !== undefined && domains.has(here);
  });
}

/**
 * Returns whether required affinity excludes the node. The first pod that matches its own term may
 * go anywhere.
 */
function lonely({ node }: NodeInfo, round: SchedulingCycle): boolean {
  return round.constraints.together.some(term => {
    if (round.isIn(term, domain(node, text(term, 'topologyKey')))) return false;
    return !(
      round.isNobody(term) && termPicks(term, round.pod.metadata.namespace ?? '', round.pod)
    );
  });
}

const spreadReason = "node(s) didn't match pod topology spread constraints";

function skewed({ node }: NodeInfo, round: SchedulingCycle): Obstacle | undefined {
  for (const one of round.constraints.spreads) {
    const where = domain(node, text(one, 'topologyKey'));
    if (where === undefined) return firm(`${spreadReason} (missing required label)`);
    const { counts, least } = round.spread(one);
    const itself = picks(one['labelSelector'], round.pod) ? 1 : 0;
    if ((counts.get(where) ?? 0) + itself - least > Number(one['maxSkew'] ?? 1))
      return yielding(spreadReason);
  }
  return undefined;
}

/**
 * Returns the insufficient resources; no departure of other pods helps when the request exceeds the
 * node's total.
 */
function shortage({ used, has }: NodeInfo, { constraints: { asked } }: SchedulingCycle): Obstacle {
  const short = lacking(asked, used, has);
  const reasons = short.map(name => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`));
  return { reasons, yields: fits(asked, {}, has) };
}

/** A filter of the scheduler: a check that runs for many nodes, and its reason. */
type Filter = {
  /** Returns whether the filter applies to the pod at all; to most pods, most filters do not. */
  readonly concerns: (round: SchedulingCycle) => boolean;
  readonly bars: (load: NodeInfo, round: SchedulingCycle) => boolean;
  readonly why: (load: NodeInfo, round: SchedulingCycle) => Obstacle;
};

function filter(reason: Obstacle, concerns: Filter['concerns'], bars: Filter['bars']): Filter {
  return { concerns, bars, why: () => reason };
}

/** Filters in order of execution; the first refusal counts. */
const filters: readonly Filter[] = [
  filter(
    firm("node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    ({ constraints }) => constraints.named !== undefined,
    ({ name }, { constraints }) => constraints.named?.has(name) === false,
  ),
  filter(
    firm('node(s) were unschedulable'),
    ({ constraints }) => !constraints.toleratesCordon,
    ({ isCordoned }) => isCordoned,
  ),
  filter(
    firm('node(s) had untolerated taint(s)'),
    () => true,
    ({ node, isTainted }, { spec }) =>
      isTainted && !toleratesAll(spec, node, ['NoSchedule', 'NoExecute']),
  ),
  filter(
    firm("node(s) didn't match Pod's node affinity/selector"),
    ({ constraints }) => constraints.isChoosy,
    ({ node }, { spec }) => !fitsSelector(spec, placeOf(node)),
  ),
  {
    concerns: () => true,
    bars: ({ used, has }, { constraints }) => !fits(constraints.asked, used, has),
    why: shortage,
  },
  filter(
    firm("node(s) didn't match PersistentVolume's node affinity"),
    ({ volumes }) => volumes.length > 0,
    ({ node }, { volumes }) => !volumes.every(tie => fitsTerms(tie, placeOf(node))),
  ),
  {
    concerns: ({ constraints }) => constraints.spreads.length > 0,
    bars: (load, round) => skewed(load, round) !== undefined,
    why: (load, round) => skewed(load, round) ?? firm(spreadReason),
  },
  filter(
    firm("node(s) didn't match pod affinity rules"),
    ({ constraints }) => constraints.together.length > 0,
    lonely,
  ),
  filter(
    yielding("node(s) didn't match pod anti-affinity rules"),
    ({ constraints }) => constraints.apart.length > 0,
    keepsAway,
  ),
  filter(
    yielding("node(s) didn't satisfy existing pods anti-affinity rules"),
    ({ keepers }) => keepers.length > 0,
    keptAway,
  ),
];

/** Returns the score, higher is better: low load, preferred, few siblings, no soft taints. */
function score(load: NodeInfo, { spec, constraints, siblings, zones }: SchedulingCycle): number {
  const avoided = load.isTainted
    ? untolerated(spec, load.node, ['PreferNoSchedule']).length * 300
    : 0;
  const crowded = (siblings.get(load.name) ?? 0) * 25 + (zones.get(load.zone ?? '') ?? 0) * 4;
  const liked = constraints.preferred.length === 0 ? 0 : preference(spec, load.node) * 2;
  return load.free + liked - avoided - crowded;
}

/** The chosen node, or why there is none, and the number of checked nodes. */
export type Placement = { readonly looked: number } & (
  | { readonly kind: 'bound'; readonly node: string }
  | { readonly kind: 'nowhere'; readonly message: string }
);

function counted(found: readonly string[], nodes: number): string {
  const counts = new Map<string, number>();
  for (const reason of found) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${texts.join(', ')}.`;
}

/**
 * Returns the scheduler's message: why no node fits, and that preemption does not help (FitError).
 */
function lastWord(pod: Stored, obstacles: readonly Obstacle[]): string {
  const nodes = obstacles.length;
  if (nodes === 0) return 'no nodes available to schedule pods';
  const help = obstacles.map(({ yields }) =>
    yields
      ? 'No preemption victims found for incoming pod'
      : 'Preemption is not helpful for scheduling',
  );
  const refusal = 'not eligible due to preemptionPolicy=Never.';
  const preemption =
    at(pod, 'spec', 'preemptionPolicy') === 'Never' ? refusal : counted(help, nodes);
  const why = obstacles.flatMap(({ reasons }) => reasons);
  return `${counted(why, nodes)} preemption: ${preemption}`;
}

/**
 * Returns the best of the first feasible nodes, at most this many; ties are broken at random, from
 * the cluster's seed. Pure except for that.
 */
export function place(
  round: SchedulingCycle,
  loads: Iterable<NodeInfo>,
  most: number,
  random: () => number,
): Placement {
  const asking = filters.filter(({ concerns }) => concerns(round));
  const barred: { readonly by: Filter; readonly load: NodeInfo }[] = [];
  let [looked, found] = [0, 0];
  let equal: NodeInfo[] = [];
  let best = Number.NEGATIVE_INFINITY;
  for (const load of loads) {
    looked += 1;
    const by = asking.find(({ bars }) => bars(load, round));
    if (by !== undefined) {
      if (found === 0) barred.push({ by, load });
      continue;
    }
    found += 1;
    const points = score(load, round);
    if (points > best + 1e-9) equal = [load];
    else if (points > best - 1e-9) equal.push(load);
    best = Math.max(best, points);
    if (found === most) break;
  }
  if (found > 0)
    return { kind: 'bound', node: equal[Math.floor(random() * equal.length)]?.name ?? '', looked };
  const obstacles = barred.map(({ by, load }) => by.why(load, round));
  return { kind: 'nowhere', message: lastWord(round.pod, obstacles), looked };
}

/** Name of this scheduler; it ignores pods of others. */
const ours = 'default-scheduler';

/** Returns unscheduled pods, by priority and then by age. */
export function queueOf(pods: readonly Stored[]): readonly Stored[] {
  return pods
    .filter(
      pod => nodeOf(pod) === '' && !isFinished(pod) && pod.metadata.deletionTimestamp === undefined,
    )
    .filter(pod => objects(at(pod, 'spec', 'schedulingGates')).length === 0)
    .filter(pod => (at(pod, 'spec', 'schedulerName') ?? ours) === ours)
    .toSorted(
      (one, other) =>
        Number(at(other, 'spec', 'priority') ?? 0) - Number(at(one, 'spec', 'priority') ?? 0) ||
        Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
        (one.metadata.name < other.metadata.name ? -1 : 1),
    );
}
