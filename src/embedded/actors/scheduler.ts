import type { JsonObject } from '../../core/json.ts';
import { isFinished, nodeOf } from '../controllers/pods.ts';
import { picks } from '../controllers/selectors.ts';
import { at, items, objects, type Stored, text } from '../object.ts';
import { fitsSelector, fitsTerms, preference, termPicks, terms } from './affinity.ts';
import { domain, type Load, zoneOf } from './load.ts';
import { lacking } from './resources.ts';
import type { Round } from './round.ts';
import { toleratesAll, untolerated } from './taints.ts';

/** A scheduler: filters, then scores (k8s.io/kubernetes/pkg/scheduler), without preemption. */

/** It keeps away from others that are there. */
const keepsAway = ({ node }: Load, round: Round): boolean =>
  terms(round.spec, 'podAntiAffinity').some(term => round.isIn(term, domain(node, text(term, 'topologyKey'))));

/** Others that are there keep it away. */
const keptAway = ({ node }: Load, { keepers }: Round): boolean =>
  [...keepers].some(([key, domains]) => {
    const here = domain(node, key);
    return here !== undefined && domains.has(here);
  });

/** A first pod that would be its own company may go anywhere. */
const lonely = ({ node }: Load, round: Round): boolean =>
  terms(round.spec, 'podAffinity').some(term => {
    if (round.isIn(term, domain(node, text(term, 'topologyKey')))) return false;
    return !(round.isNobody(term) && termPicks(term, round.pod.metadata.namespace ?? '', round.pod));
  });

const spreadReason = "node(s) didn't match pod topology spread constraints";

const skewed = ({ node }: Load, round: Round): Obstacle | undefined => {
  for (const one of objects(round.spec['topologySpreadConstraints'])) {
    if (text(one, 'whenUnsatisfiable') !== 'DoNotSchedule') continue;
    const where = domain(node, text(one, 'topologyKey'));
    if (where === undefined) return firm(`${spreadReason} (missing required label)`);
    const { counts, least } = round.spread(one);
    const itself = picks(one['labelSelector'], round.pod) ? 1 : 0;
    if ((counts.get(where) ?? 0) + itself - least > Number(one['maxSkew'] ?? 1)) return yielding(spreadReason);
  }
  return undefined;
};

const unfriendly = (load: Load, round: Round): Obstacle | undefined => {
  if (lonely(load, round)) return firm("node(s) didn't match pod affinity rules");
  if (keepsAway(load, round)) return yielding("node(s) didn't match pod anti-affinity rules");
  return keptAway(load, round) ? yielding("node(s) didn't satisfy existing pods anti-affinity rules") : undefined;
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
const shortage = ({ asked }: Round, { used, has }: Load): Obstacle | undefined => {
  const short = lacking(asked, used, has);
  if (short.length === 0) return undefined;
  const never = lacking(asked, {}, has);
  return { reasons: short.map(name => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`)), yields: never.length === 0 };
};

/** In the order of the scheduler's filters; the first that says no is heard. */
const obstacle = (load: Load, round: Round): Obstacle | undefined => {
  const { spec } = round;
  const { node } = load;
  if (namesOthers(spec, node)) return firm("node(s) didn't satisfy plugin(s) [NodeAffinity]");
  if (at(node, 'spec', 'unschedulable') === true && !toleratesCordon(spec)) return firm('node(s) were unschedulable');
  if (!toleratesAll(spec, node, ['NoSchedule', 'NoExecute'])) return firm('node(s) had untolerated taint(s)');
  if (!fitsSelector(spec, node)) return firm("node(s) didn't match Pod's node affinity/selector");
  const short = shortage(round, load);
  if (short !== undefined) return short;
  if (!round.volumes.every(tie => fitsTerms(tie, node))) return firm("node(s) didn't match PersistentVolume's node affinity");
  return skewed(load, round) ?? unfriendly(load, round);
};

const cordonTaint: Stored = {
  metadata: { name: 'cordoned', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
};

const toleratesCordon = (spec: JsonObject): boolean => toleratesAll(spec, cordonTaint, ['NoSchedule']);

/** Higher is better: little used, liked, far from its like, not to be avoided. */
const score = (load: Load, { spec, siblings, zones }: Round): number => {
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

/** The best of these nodes for a pod; of equal ones chance decides, from the cluster's seed. Pure but for that. */
export const place = (round: Round, loads: readonly Load[], random: () => number): Placement => {
  const obstacles: Obstacle[] = [];
  let equal: Load[] = [];
  let best = Number.NEGATIVE_INFINITY;
  for (const load of loads) {
    const why = obstacle(load, round);
    if (why !== undefined) {
      obstacles.push(why);
      continue;
    }
    const points = score(load, round);
    if (points > best + 1e-9) equal = [load];
    else if (points > best - 1e-9) equal.push(load);
    best = Math.max(best, points);
  }
  if (equal.length === 0) return { kind: 'nowhere', message: lastWord(round.pod, obstacles) };
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
