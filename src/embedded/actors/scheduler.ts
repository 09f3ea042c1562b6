import type { JsonObject } from '../../core/json.ts';
import type { Cluster } from '../controllers/controller.ts';
import { isFinished, nodeOf } from '../controllers/pods.ts';
import { picks } from '../controllers/selectors.ts';
import { at, items, objects, part, type Stored, strings, text } from '../object.ts';
import { fitsSelector, fitsTerms, preference, termPicks } from './affinity.ts';
import { type Amounts, allocatable, lacking, plus, requestsOf } from './resources.ts';
import { toleratesAll, untolerated } from './taints.ts';

/** A scheduler: filters, then scores (k8s.io/kubernetes/pkg/scheduler), without preemption. */

/** What one node carries at the moment. `guarded`: its pods that keep others away. */
export type Load = {
  readonly node: Stored;
  readonly pods: readonly Stored[];
  readonly guarded: readonly Stored[];
  readonly used: Amounts;
  readonly has: Amounts;
};

/** What a pod of a node asks for never changes; its spec stays the same object through all updates of its status. */
const asked = new WeakMap<JsonObject, Amounts>();

const askedBy = (pod: Stored): Amounts => {
  const spec = part(pod, 'spec');
  const known = asked.get(spec);
  if (known !== undefined) return known;
  const amounts = requestsOf(spec);
  asked.set(spec, amounts);
  return amounts;
};

export const loadOf = (cluster: Cluster, node: Stored): Load => {
  const pods = cluster.store.indexed('pods', 'spec.nodeName', node.metadata.name).filter(pod => !isFinished(pod));
  const guarded = pods.filter(pod => terms(part(pod, 'spec'), 'podAntiAffinity').length > 0);
  return { node, pods, guarded, used: pods.map(askedBy).reduce(plus, {}), has: allocatable(node) };
};

const domain = (node: Stored, key: string): string | undefined => strings(node.metadata.labels)[key];

const terms = (spec: JsonObject, kind: 'podAffinity' | 'podAntiAffinity'): readonly JsonObject[] =>
  objects(at(spec, 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'));

/** Pods of the same domain as the node, by a term's topology key. */
const sharing = (load: Load, loads: readonly Load[], key: string): readonly Stored[] => {
  const here = domain(load.node, key);
  return here === undefined ? [] : loads.filter(({ node }) => domain(node, key) === here).flatMap(({ pods }) => pods);
};

/** What concerns all nodes, computed once for a pod: otherwise every node would look at every other. */
type Round = {
  readonly loads: readonly Load[];
  /** Loads with pods that keep others away. */
  readonly guarded: readonly Load[];
  /** Pods of the same owner, by zone. */
  readonly zones: ReadonlyMap<string, number>;
  /** What the pod asks for. */
  readonly asked: Amounts;
  readonly ties: Ties;
};

const zoneOf = (node: Stored): string | undefined => domain(node, 'topology.kubernetes.io/zone');

/** What a pod brings along: the node selectors of its volumes, and how many pods of its owner there are on which node. */
export type Ties = { readonly volumes: readonly JsonObject[]; readonly siblings: ReadonlyMap<string, number> };

const roundOf = (spec: JsonObject, loads: readonly Load[], ties: Ties): Round => {
  const zones = new Map<string, number>();
  for (const { node } of ties.siblings.size === 0 ? [] : loads) {
    const count = ties.siblings.get(node.metadata.name) ?? 0;
    const zone = count === 0 ? undefined : zoneOf(node);
    if (zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) + count);
  }
  return { loads, guarded: loads.filter(({ guarded }) => guarded.length > 0), zones, ties, asked: requestsOf(spec) };
};

/** It keeps away from others that are there. */
const keepsAway = (pod: Stored, load: Load, { loads }: Round): boolean =>
  terms(part(pod, 'spec'), 'podAntiAffinity').some(term =>
    sharing(load, loads, text(term, 'topologyKey')).some(other => termPicks(term, pod.metadata.namespace ?? '', other)),
  );

/** Others that are there keep it away. */
const keptAway = (pod: Stored, load: Load, { guarded }: Round): boolean =>
  guarded.some(({ node, guarded: keepers }) =>
    keepers.some(other =>
      terms(part(other, 'spec'), 'podAntiAffinity').some(term => {
        const where = domain(node, text(term, 'topologyKey'));
        const same = where !== undefined && where === domain(load.node, text(term, 'topologyKey'));
        return same && termPicks(term, other.metadata.namespace ?? '', pod);
      }),
    ),
  );

/** A first pod that would be its own company may go anywhere. */
const lonely = (pod: Stored, load: Load, loads: readonly Load[]): boolean =>
  terms(part(pod, 'spec'), 'podAffinity').some(term => {
    const namespace = pod.metadata.namespace ?? '';
    if (sharing(load, loads, text(term, 'topologyKey')).some(other => termPicks(term, namespace, other))) return false;
    const nobody = !loads.some(({ pods }) => pods.some(other => termPicks(term, namespace, other)));
    return !(nobody && termPicks(term, namespace, pod));
  });

/** Pods by domain that a spread constraint counts. */
const spreadOf = (constraint: JsonObject, pod: Stored, loads: readonly Load[]): ReadonlyMap<string, number> => {
  const key = text(constraint, 'topologyKey');
  const counts = new Map<string, number>();
  for (const { node, pods } of loads) {
    const where = domain(node, key);
    if (where === undefined || !fitsSelector(part(pod, 'spec'), node)) continue;
    const mine = pods.filter(other => other.metadata.namespace === pod.metadata.namespace && picks(constraint['labelSelector'], other));
    counts.set(where, (counts.get(where) ?? 0) + mine.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length);
  }
  return counts;
};

const spreadReason = "node(s) didn't match pod topology spread constraints";

const skewed = (pod: Stored, load: Load, loads: readonly Load[]): Obstacle | undefined => {
  for (const one of objects(at(pod, 'spec', 'topologySpreadConstraints'))) {
    if (text(one, 'whenUnsatisfiable') !== 'DoNotSchedule') continue;
    const where = domain(load.node, text(one, 'topologyKey'));
    if (where === undefined) return firm(`${spreadReason} (missing required label)`);
    const counts = spreadOf(one, pod, loads);
    const itself = picks(one['labelSelector'], pod) ? 1 : 0;
    const least = counts.size < Number(one['minDomains'] ?? 1) ? 0 : Math.min(...counts.values());
    if ((counts.get(where) ?? 0) + itself - least > Number(one['maxSkew'] ?? 1)) return yielding(spreadReason);
  }
  return undefined;
};

const unfriendly = (pod: Stored, load: Load, round: Round): Obstacle | undefined => {
  if (lonely(pod, load, round.loads)) return firm("node(s) didn't match pod affinity rules");
  if (keepsAway(pod, load, round)) return yielding("node(s) didn't match pod anti-affinity rules");
  return keptAway(pod, load, round) ? yielding("node(s) didn't satisfy existing pods anti-affinity rules") : undefined;
};

/** Why a pod cannot go to a node, in the scheduler's words, and whether it might if others went away (Unschedulable). */
type Obstacle = { readonly reasons: readonly string[]; readonly yields: boolean };

const firm = (reason: string): Obstacle => ({ reasons: [reason], yields: false });
const yielding = (...reasons: readonly string[]): Obstacle => ({ reasons, yields: true });

/** The one node that a pod of a daemon set names: all others are not even looked at. */
const namesOthers = (spec: JsonObject, node: Stored): boolean => {
  const terms = objects(at(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms'));
  const named = terms.map(term => objects(term['matchFields']).find(field => text(field, 'key') === 'metadata.name'));
  return terms.length > 0 && named.every(field => field !== undefined && !items(field['values']).includes(node.metadata.name));
};

/** What the pod asks for and does not get; more than the node could ever give is not worth waiting for. */
const shortage = (asked: Amounts, { used, has }: Load): Obstacle | undefined => {
  const short = lacking(asked, used, has);
  if (short.length === 0) return undefined;
  const never = lacking(asked, {}, has);
  return { reasons: short.map(name => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`)), yields: never.length === 0 };
};

/** In the order of the scheduler's filters; the first that says no is heard. */
const obstacle = (pod: Stored, load: Load, round: Round): Obstacle | undefined => {
  const spec = part(pod, 'spec');
  const { node } = load;
  if (namesOthers(spec, node)) return firm("node(s) didn't satisfy plugin(s) [NodeAffinity]");
  if (at(node, 'spec', 'unschedulable') === true && !toleratesCordon(spec)) return firm('node(s) were unschedulable');
  if (!toleratesAll(spec, node, ['NoSchedule', 'NoExecute'])) return firm('node(s) had untolerated taint(s)');
  if (!fitsSelector(spec, node)) return firm("node(s) didn't match Pod's node affinity/selector");
  const short = shortage(round.asked, load);
  if (short !== undefined) return short;
  if (!round.ties.volumes.every(tie => fitsTerms(tie, node))) return firm("node(s) didn't match PersistentVolume's node affinity");
  return skewed(pod, load, round.loads) ?? unfriendly(pod, load, round);
};

const cordonTaint: Stored = {
  metadata: { name: 'cordoned', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
};

const toleratesCordon = (spec: JsonObject): boolean => toleratesAll(spec, cordonTaint, ['NoSchedule']);

/** Higher is better: little used, liked, far from its like, not to be avoided. */
const score = (pod: Stored, load: Load, { zones, ties: { siblings } }: Round): number => {
  const spec = part(pod, 'spec');
  const { has } = load;
  const parts = ['cpu', 'memory', 'pods'].map(name => (has[name] ? (load.used[name] ?? 0) / has[name] : 0));
  const free = 100 * (1 - parts.reduce((sum, value) => sum + value, 0) / parts.length);
  const avoided = untolerated(spec, load.node, ['PreferNoSchedule']).length * 300;
  const crowded = (siblings.get(load.node.metadata.name) ?? 0) * 25 + (zones.get(zoneOf(load.node) ?? '') ?? 0) * 4;
  return free + preference(spec, load.node) * 2 - avoided - crowded;
};

/** Where the pod goes, or why it goes nowhere. */
export type Placement = { readonly kind: 'bound'; readonly node: string } | { readonly kind: 'nowhere'; readonly message: string };

const counted = (found: readonly string[], nodes: number): string => {
  const counts = new Map<string, number>();
  for (const reason of found) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${texts.join(', ')}.`;
};

/** The scheduler's last word: why no node is free, and that nobody would have to make room (FitError). */
const lastWord = (pod: Stored, obstacles: readonly Obstacle[]): string => {
  const nodes = obstacles.length;
  if (nodes === 0) return 'no nodes available to schedule pods';
  const help = obstacles.map(({ yields }) =>
    yields ? 'No preemption victims found for incoming pod' : 'Preemption is not helpful for scheduling',
  );
  const refusal = 'not eligible due to preemptionPolicy=Never.';
  const preemption = at(pod, 'spec', 'preemptionPolicy') === 'Never' ? refusal : counted(help, nodes);
  const why = obstacles.flatMap(({ reasons }) => reasons);
  return `${counted(why, nodes)} no new claims to deallocate, preemption: ${preemption}`;
};

/** The best node for a pod; of equal ones chance decides, from the cluster's seed. Pure but for that. */
export const place = (pod: Stored, loads: readonly Load[], random: () => number, ties: Ties): Placement => {
  const round = roundOf(part(pod, 'spec'), loads, ties);
  const obstacles = loads.map(load => [load, obstacle(pod, load, round)] as const);
  const fitting = obstacles.filter(([, why]) => why === undefined).map(([load]) => load);
  if (fitting.length === 0)
    return {
      kind: 'nowhere',
      message: lastWord(
        pod,
        obstacles.flatMap(([, why]) => why ?? []),
      ),
    };
  const scored = fitting.map(load => [score(pod, load, round), load] as const);
  const best = Math.max(...scored.map(([points]) => points));
  const equal = scored.filter(([points]) => points > best - 1e-9).map(([, load]) => load);
  return { kind: 'bound', node: equal[Math.floor(random() * equal.length)]?.node.metadata.name ?? '' };
};

/** Pods of other schedulers are theirs. */
const ours = 'default-scheduler';

/** Pods that wait for a node, the most important first and of equals the oldest. */
export const queueOf = (pods: readonly Stored[]): readonly Stored[] =>
  pods
    .filter(pod => nodeOf(pod) === '' && !isFinished(pod) && pod.metadata.deletionTimestamp === undefined)
    .filter(pod => objects(at(pod, 'spec', 'schedulingGates')).length === 0)
    .filter(pod => (at(pod, 'spec', 'schedulerName') ?? ours) === ours)
    .toSorted(
      (one, other) =>
        Number(at(other, 'spec', 'priority') ?? 0) - Number(at(one, 'spec', 'priority') ?? 0) ||
        Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
        (one.metadata.name < other.metadata.name ? -1 : 1),
    );
