import { at, objects, part, type Stored, strings, text } from '@drydock/kube-sim';
import type { Store } from '@drydock/kube-sim/store';
import { workNamespace } from '@drydock/operator';
import { type Around, type Checker, clockErrorMs, isDone, type Served } from './checker.ts';
import {
  hasLostDaemonSet,
  isFinished,
  isReady,
  isTerminating,
  judge,
  nodeOfPod,
  ownerOf,
  planOfPod,
} from './judgement.ts';
import { drainTaints, idOf, isCordoned, isHeld, taintsOf } from './marks.ts';
import { flag, policyOf, stageOf, type Version } from './records.ts';

/** Evictions: what may go, when, and past which budgets. */

const budgets = 'poddisruptionbudgets.policy';

/**
 * By labels, as the budgets of stories do; of odd ones that select in other ways nothing is said.
 */
function selects(budget: Stored, pod: Stored): boolean {
  if (objects(at(budget, 'spec', 'selector', 'matchExpressions')).length > 0) return false;
  const wanted = Object.entries(strings(at(budget, 'spec', 'selector', 'matchLabels')));
  return (
    pod.metadata.namespace === budget.metadata.namespace &&
    wanted.every(([key, value]) => pod.metadata.labels?.[key] === value)
  );
}

/** How many there are to be, as the controllers of these pods say. */
function scaleOf(store: Store, pods: readonly Stored[]): number {
  const scales = new Map<string, number>();
  for (const pod of pods) {
    const owner = ownerOf(pod);
    const namespace = pod.metadata.namespace ?? '';
    if (owner?.kind === 'StatefulSet')
      scales.set(
        owner.uid,
        Number(at(store.get('statefulsets.apps', namespace, owner.name), 'spec', 'replicas') ?? 0),
      );
    if (owner?.kind !== 'ReplicaSet') continue;
    const set = store.get('replicasets.apps', namespace, owner.name);
    const above = set && ownerOf(set);
    const scaled = above === undefined ? set : store.get('deployments.apps', namespace, above.name);
    scales.set(above?.uid ?? owner.uid, Number(at(scaled, 'spec', 'replicas') ?? 0));
  }
  return [...scales.values()].reduce((sum, one) => sum + one, 0);
}

function ofWhole(value: unknown, whole: number): number {
  return typeof value === 'string' && value.endsWith('%')
    ? Math.ceil((Number(value.slice(0, -1)) * whole) / 100)
    : Number(value);
}

function desiredOf(budget: Stored, scale: number): number {
  const { minAvailable, maxUnavailable } = part(budget, 'spec');
  // One that says neither wants nothing (disruption controller, getExpectedPodCount).
  if (minAvailable === undefined && maxUnavailable === undefined) return 0;
  return minAvailable === undefined
    ? Math.max(0, scale - ofWhole(maxUnavailable, scale))
    : ofWhole(minAvailable, scale);
}

/**
 * The disruption controller looks a moment after something has happened: so long is what a budget
 * says older than the truth.
 */
const settlesMs = 20;

/** Their size is part of what a budget goes by. */
const scaled = new Set(['deployments.apps', 'statefulsets.apps', 'replicasets.apps']);

type BudgetHealth = { readonly budget: Stored; readonly healthy: number; readonly desired: number };

function isHealthy(pod: Stored): boolean {
  return isReady(pod) && !isTerminating(pod);
}

export function evictionChecker(around: Around): Checker {
  const { store, records, story, fail, nowMs, staleMs } = around;
  const standings = new Map<Served, readonly BudgetHealth[]>();
  /** When somebody else last changed something that a budget counts, by namespace. */
  const stirred = new Map<string, number>();
  let ours = false;

  const standingsOf = (pod: Stored): readonly BudgetHealth[] =>
    store
      .list(budgets, pod.metadata.namespace ?? '')
      .filter(budget => selects(budget, pod))
      .map(budget => {
        const pods = store
          .list('pods', pod.metadata.namespace ?? '')
          .filter(one => selects(budget, one) && !isFinished(one));
        return {
          budget,
          healthy: pods.filter(isHealthy).length,
          desired: desiredOf(budget, scaleOf(store, pods)),
        };
      });

  /** A rung of the ladder, or the policy for VMs, lets it be deleted past its budgets. */
  const mayDelete = ({ resource, object }: Version): boolean => {
    const policy = policyOf({ resource, object });
    if (flag(policy, 'disableEviction', false)) return true;
    if (text(policy, 'virtualMachines', 'notMigratable') === 'ShutDown') return true;
    const begun = Date.parse(text(object, 'status', 'startTime')) || nowMs();
    const slack = 2000 + clockErrorMs(story);
    return objects(policy['ladder']).some(
      rung =>
        rung['action'] === 'Delete' &&
        begun + Number(rung['afterSeconds']) * 1000 <= nowMs() + slack,
    );
  };

  /**
   * Of the pods of plans the operator may not know yet that their work has ended, and no harm comes
   * from waiting for them.
   */
  const isStopped = (version: Version, node: string): boolean =>
    store
      .indexed('pods', 'spec.nodeName', node)
      .filter(
        pod =>
          planOfPod(pod) === undefined &&
          !isYoung(pod) &&
          !hasLostDaemonSet(pod, records, staleMs()),
      )
      .some(pod => judge(pod, version, store, nowMs()) === 'refused');

  const isYoung = (pod: Stored): boolean =>
    nowMs() - Date.parse(pod.metadata.creationTimestamp) < staleMs() + 1000;

  /** As it is, and as it was before its deletion, if that may not be known yet. */
  const knownAs = (pod: Stored): readonly Stored[] => {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, ...metadata } = pod.metadata;
    if (deletionTimestamp === undefined) return [pod];
    const isNews =
      nowMs() - Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000 < staleMs();
    return isNews ? [pod, { ...pod, metadata }] : [pod];
  };

  /**
   * Takes the times at which it may have been decided: the call was on its way since, and the
   * operator's clock may be behind.
   */
  const wants = (version: Version, pod: Stored): boolean =>
    knownAs(pod).some(one =>
      [nowMs(), nowMs() - staleMs()].some(
        known => judge(one, version, store, known - clockErrorMs(story), known) === 'goes',
      ),
    );

  const checkPolicy = (pod: Stored, isDeletion: boolean): void => {
    const node = nodeOfPod(pod);
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const wanting = records
      .wanting(node, staleMs())
      .filter(({ object }) => stageOf(object) === 'Drain');
    const agreeing = wanting.filter(version => wants(version, pod) && !isStopped(version, node));
    const judgements = wanting
      .map(version => `${version.object.metadata.name}: ${judge(pod, version, store, nowMs())}`)
      .join(', ');
    if (agreeing.length === 0)
      fail(
        'policy',
        `${key} on ${node} is asked to go, and nobody wants that (${judgements || 'no maintenance'})`,
      );
    else if (isDeletion && !agreeing.some(mayDelete))
      fail('policy', `${key} on ${node} is deleted, and no policy says so`);
  };

  const checkHold = (pod: Stored): void => {
    const name = nodeOfPod(pod);
    const node = store.get('nodes', '', name);
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    if (node === undefined || records.goneFor('nodes', '', name) < staleMs()) return;
    if (!isHeld(node))
      return fail('held first', `${key} is asked to go, and node ${name} is not held`);
    const isMarked = isCordoned(node) && taintsOf(node).some(taint => drainTaints.has(idOf(taint)));
    const touched = stirred.get(`node ${name}`) ?? Number.NEGATIVE_INFINITY;
    if (!isMarked && nowMs() - touched > staleMs())
      fail('held first', `${key} is asked to go, and node ${name} is not cordoned and tainted`);
  };

  /** The pods of plans go when their work is over, or given up, whoever else drains the node. */
  const checkPlanPod = (pod: Stored): void => {
    const { name } = pod.metadata;
    const plan = store.get('maintenanceplans.drydock.dev', '', planOfPod(pod) ?? '');
    const working = objects(at(plan, 'status', 'inFlight')).some(
      one => text(one, 'podUID') === pod.metadata.uid && text(one, 'state') === 'Working',
    );
    if (working && !isFinished(pod))
      fail('plans', `pod ${name} is asked to go in the middle of its work`);
  };

  const before = (served: Served): void => {
    const { call, target } = served;
    const isEviction =
      target.resource === 'pods' && target.sub === 'eviction' && call.method === 'POST';
    const isDeletion = target.resource === 'pods' && target.sub === '' && call.method === 'DELETE';
    if (!isEviction && !isDeletion) return;
    const pod = store.get('pods', target.namespace, target.name);
    const options = part(call.body as Stored, ...(isEviction ? ['deleteOptions'] : []));
    const uid = text(options, 'preconditions', 'uid');
    if (uid === '')
      fail('policy', `${target.namespace}/${target.name} is asked to go whoever it is`);
    if (target.namespace === workNamespace && pod !== undefined) checkPlanPod(pod);
    if (isDeletion && target.namespace === workNamespace) return;
    if (pod === undefined || uid !== pod.metadata.uid) return;
    checkPolicy(pod, isDeletion);
    checkHold(pod);
    ours = true;
    // No budget guards what has not begun, or has ended: odd ones may say that they are Ready.
    const isGuarded =
      isHealthy(pod) && !isFinished(pod) && text(pod, 'status', 'phase') !== 'Pending';
    if (isEviction) standings.set(served, isGuarded ? standingsOf(pod) : []);
  };

  const after: Checker['after'] = (served, answer) => {
    ours = false;
    const before = standings.get(served) ?? [];
    standings.delete(served);
    if (
      !isDone(answer) ||
      nowMs() - (stirred.get(served.target.namespace) ?? Number.NEGATIVE_INFINITY) < settlesMs
    )
      return;
    for (const { budget, healthy, desired } of before) {
      if (healthy - 1 >= desired) continue;
      const what = `${served.target.namespace}/${served.target.name}`;
      fail(
        'budgets',
        `${what} was evicted: budget ${budget.metadata.name} wants ${desired} healthy pods, and ${healthy} were left before`,
      );
    }
  };

  return {
    before,
    after,
    changed: ({ resource, object }) => {
      const { namespace = '', name } = object.metadata;
      if ((resource === 'pods' && !ours) || scaled.has(resource)) stirred.set(namespace, nowMs());
      if (resource === 'nodes') stirred.set(`node ${name}`, nowMs());
    },
  };
}
