import { planAnnotation } from '@drydock/core/plan';
import { at, objects, type Stored, text } from '@drydock/kube-sim';
import { nodeOf, phaseOf } from '@drydock/kube-sim/controllers';
import type { StoreChange } from '@drydock/kube-sim/store';
import { workNamespace } from '@drydock/operator';
import { haltAnnotation } from '@drydock/operator/plans';
import { leaseNamespace, operatorNamespace } from '../cluster/namespaces.ts';
import { oddNamespace } from '../odd/odd-parts.ts';
import { maintenanceResources } from '../story/story.ts';
import type { Around, Checker, Served } from './checker.ts';
import { plans, records, slotsOf, verdictsIn } from './plans.ts';

/**
 * What plans do to nodes: one pod of a work on a node at a time, and none on a node that is given
 * back; nothing new once all plans are halted, no work on a node that is not empty, and no later
 * stage before something of the first is proven.
 */

/** Since when the lease of the leader says that all plans stand still. */
class Halt {
  #sinceMs: number | undefined;
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  changed({ type, resource, object }: StoreChange): void {
    const { namespace, name, annotations } = object.metadata;
    if (
      resource !== 'leases.coordination.k8s.io' ||
      namespace !== operatorNamespace ||
      name !== 'drydock'
    )
      return;
    const isHalted = type !== 'removed' && annotations?.[haltAnnotation] !== undefined;
    this.#sinceMs = isHalted ? (this.#sinceMs ?? this.#around.nowMs()) : undefined;
  }

  /** For so long that the operator has to know it. */
  get isKnown(): boolean {
    return (
      this.#sinceMs !== undefined && this.#around.nowMs() - this.#sinceMs > this.#around.staleMs()
    );
  }
}

function isOfDaemonSet({ metadata }: Stored): boolean {
  return metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true;
}

/** Since when pods are where they are, by their uids. */
class Stays {
  readonly #since = new Map<string, number>();
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  changed({ type, resource, object }: StoreChange): void {
    const { uid } = object.metadata;
    if (resource !== 'pods') return;
    if (type === 'removed') this.#since.delete(uid);
    else if (nodeOf(object) !== '' && !this.#since.has(uid))
      this.#since.set(uid, this.#around.nowMs());
  }

  /**
   * A pod that the drain of every plan of a story takes away, and that the operator has to know of.
   */
  keeps(pod: Stored): boolean {
    const { namespace = '', uid, deletionTimestamp, ownerReferences = [] } = pod.metadata;
    const others = [workNamespace, oddNamespace, leaseNamespace].includes(namespace);
    if (
      others ||
      deletionTimestamp !== undefined ||
      isOfDaemonSet(pod) ||
      ownerReferences.some(({ kind }) => kind === 'Node')
    )
      return false;
    const since = this.#since.get(uid) ?? this.#around.nowMs();
    return phaseOf(pod) === 'Running' && this.#around.nowMs() - since > this.#around.staleMs();
  }
}

/** Pods of the work itself: others get nodes ready, or run beside the nodes. */
function isOfWork(body: Stored): boolean {
  return (
    /-\d+$/.test(text(body, 'metadata', 'name')) &&
    !/-hook-\d+$/.test(text(body, 'metadata', 'name'))
  );
}

function podChecker({ store, fail }: Around, halt: Halt, stays: Stays) {
  return ({ call, target }: Served): void => {
    const { method } = call;
    const body = call.body as Stored;
    if (
      method !== 'POST' ||
      target.resource !== 'pods' ||
      target.namespace !== workNamespace ||
      target.sub !== ''
    )
      return;
    const [name, node] = [text(body, 'metadata', 'name'), text(body, 'spec', 'nodeName')];
    if (halt.isKnown) fail('plans', `pod ${name} is made while all plans are halted`);
    if (node === '' || !isOfWork(body)) return;
    const left = store.indexed('pods', 'spec.nodeName', node).find(pod => stays.keeps(pod));
    if (left !== undefined)
      fail(
        'plans',
        `pod ${name} works on ${node}, where ${left.metadata.namespace}/${left.metadata.name} has not been drained`,
      );
  };
}

function unfinished(pod: Stored): boolean {
  return !['Succeeded', 'Failed'].includes(phaseOf(pod));
}

/** Pods of a work on a node that can run, or run, and that the operator has to know of. */
function workOn({ store, nowMs, staleMs }: Around, node: string): readonly Stored[] {
  return store
    .indexed('pods', 'spec.nodeName', node)
    .filter(
      pod =>
        pod.metadata.namespace === workNamespace &&
        isOfWork(pod) &&
        unfinished(pod) &&
        nowMs() - Date.parse(pod.metadata.creationTimestamp ?? '') > staleMs(),
    );
}

/** Maintenances of plans that stay on the node when this one goes. */
function holdsOf({ store }: Around, node: string, gone: Stored): readonly Stored[] {
  return store
    .list(maintenanceResources.Maintenance)
    .filter(
      one =>
        one.metadata.uid !== gone.metadata.uid &&
        one.metadata.deletionTimestamp === undefined &&
        one.metadata.annotations?.[planAnnotation] !== undefined &&
        text(one, 'spec', 'nodeName') === node,
    );
}

/**
 * Nobody is worked on by two, or is given back under the work: a pod that waits for its image runs
 * when the image comes, whoever is on the node then.
 */
function worksAloneChecker(around: Around) {
  return ({ call, target }: Served): void => {
    const { method } = call;
    const body = (call.body ?? {}) as Stored;
    if (
      method === 'POST' &&
      target.resource === 'pods' &&
      target.namespace === workNamespace &&
      target.sub === '' &&
      isOfWork(body)
    ) {
      const [other] = workOn(around, text(body, 'spec', 'nodeName'));
      if (other !== undefined)
        around.fail(
          'plans',
          `pod ${text(body, 'metadata', 'name')} is made on ${text(body, 'spec', 'nodeName')}, where ${other.metadata.name} is`,
        );
    }
    if (method !== 'DELETE' || target.resource !== maintenanceResources.Maintenance) return;
    const child = around.store.get(target.resource, '', target.name);
    if (
      child?.metadata.annotations?.[planAnnotation] === undefined ||
      child.metadata.deletionTimestamp !== undefined
    )
      return;
    const node = text(child, 'spec', 'nodeName');
    // Where two plans have the node, each gives back its own part: that of the plan that works
    // stays.
    const held = new Set(
      holdsOf(around, node, child).map(({ metadata }) => metadata.annotations?.[planAnnotation]),
    );
    const pod = workOn(around, node).find(
      ({ metadata }) => !held.has(metadata.annotations?.[planAnnotation]),
    );
    if (pod !== undefined)
      around.fail(
        'plans',
        `node ${node} is given back by its plan, and pod ${pod.metadata.name} of the work is on it`,
      );
  };
}

/** The verdicts of this stage in the run of the plan. */
function verdictsOf({ store }: Around, plan: Stored, stage: string): readonly string[] {
  return store
    .list(records)
    .filter(
      record =>
        text(record, 'spec', 'planUID') === plan.metadata.uid &&
        text(record, 'spec', 'runID') === text(plan, 'status', 'run', 'id') &&
        text(record, 'spec', 'revision') === text(plan, 'status', 'run', 'revision'),
    )
    .flatMap(verdictsIn)
    .filter(verdict => text(verdict, 'stage') === stage)
    .map(verdict => text(verdict, 'verdict'));
}

function stageChecker(around: Around, halt: Halt) {
  return (plan: Stored, before: Stored | undefined): void => {
    const known = new Set(
      before === undefined ? [] : slotsOf(before).map(slot => text(slot, 'nodeUID')),
    );
    const begun = slotsOf(plan).find(slot => !known.has(text(slot, 'nodeUID')));
    if (begun === undefined) return;
    const [node, stage, { name }] = [text(begun, 'node'), text(begun, 'stage'), plan.metadata];
    if (halt.isKnown)
      around.fail('plans', `plan ${name} begins with ${node} while all plans are halted`);
    const [first] = objects(at(plan, 'spec', 'stages'));
    if (first === undefined || stage === text(first, 'name') || !(Number(first['soakSeconds']) > 0))
      return;
    if (!verdictsOf(around, plan, text(first, 'name')).includes('Done'))
      around.fail(
        'plans',
        `plan ${name} begins with ${node} of stage ${stage}, and nothing of ${text(first, 'name')} is done`,
      );
  };
}

/** Somebody has said since that the node has its turn again. */
function isRetried(plan: Stored, node: string, since: number): boolean {
  return objects(at(plan, 'spec', 'retries')).some(
    retry =>
      ['*', node].includes(text(retry, 'name')) && Date.parse(text(retry, 'before')) >= since,
  );
}

/**
 * A name has its turn once in a run, whatever object stands behind it: a node that failed, or went
 * away under the work, does not come again by being made anew.
 */
function turnsChecker(around: Around) {
  return (plan: Stored, before: Stored | undefined): void => {
    const known = new Set(
      before === undefined ? [] : slotsOf(before).map(slot => text(slot, 'nodeUID')),
    );
    const begun = slotsOf(plan).find(slot => !known.has(text(slot, 'nodeUID')));
    if (begun === undefined || at(plan, 'spec', 'work', 'replace') !== undefined) return;
    const node = text(begun, 'node');
    const since = Date.parse(text(plan, 'status', 'run', 'startTime'));
    const failed = around.store
      .list(records)
      .filter(record => text(record, 'spec', 'planUID') === plan.metadata.uid)
      .flatMap(record =>
        Object.entries((at(record, 'spec', 'verdicts') ?? {}) as Readonly<Record<string, Stored>>),
      )
      .find(
        ([name, verdict]) =>
          name === node &&
          text(verdict, 'verdict') === 'Failed' &&
          !['Starting', 'Holding'].includes(text(verdict, 'state')) &&
          Date.parse(text(verdict, 'startTime')) >= since &&
          !isRetried(plan, node, Date.parse(text(verdict, 'completionTime'))),
      );
    if (failed !== undefined)
      around.fail(
        'plans',
        `plan ${plan.metadata.name} begins with ${node} again, which has failed in this run: ${text(failed[1], 'message')}`,
      );
  };
}

export function planWorkChecker(around: Around): Checker {
  const [halt, stays] = [new Halt(around), new Stays(around)];
  const stages = stageChecker(around, halt);
  const turns = turnsChecker(around);
  const [pods, alone] = [podChecker(around, halt, stays), worksAloneChecker(around)];
  return {
    before: served => {
      pods(served);
      alone(served);
    },
    changed: change => {
      halt.changed(change);
      stays.changed(change);
      const { type, resource, object } = change;
      if (type === 'removed' || resource !== plans) return;
      const before = 'before' in change ? change.before : undefined;
      stages(object, before);
      turns(object, before);
    },
  };
}
