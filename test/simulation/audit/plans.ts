import { at, objects, type Stored, text } from '@drydock/kube-sim';
import type { StoreChange } from '@drydock/kube-sim/store';
import { leftLabel } from '../story/plans.ts';
import type { Around, Checker } from './checker.ts';

/**
 * Plans: no start that breaks the limit of any plan, whatever has taken the nodes that are out; and
 * one verdict for every node that was begun with.
 */

export const plans = 'maintenanceplans.drydock.dev';
export const records = 'maintenanceplanrecords.drydock.dev';
const zone = 'topology.kubernetes.io/zone';

export function slotsOf(plan: Stored): readonly Stored[] {
  return objects(at(plan, 'status', 'inFlight')) as readonly Stored[];
}
function inFlight(plan: Stored): readonly string[] {
  return slotsOf(plan).map(one => text(one, 'node'));
}

function isReady(node: Stored): boolean {
  return objects(at(node, 'status', 'conditions')).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
}

function isOut(node: Stored): boolean {
  return (
    at(node, 'spec', 'unschedulable') === true ||
    node.metadata.deletionTimestamp !== undefined ||
    !isReady(node)
  );
}

/**
 * As the documents say of a percent: rounded down, at least one. Written anew: the operator's own
 * reading is what is audited.
 */
function resolved(amount: unknown, of: number): number {
  if (typeof amount === 'number') return amount;
  const percent = typeof amount === 'string' ? Number(amount.slice(0, -1)) : Number.NaN;
  return Number.isNaN(percent)
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((of * percent) / 100));
}

/** It limits nobody any more. */
function isOver(plan: Stored): boolean {
  return (
    inFlight(plan).length === 0 && ['Complete', 'Aborted'].includes(text(plan, 'status', 'phase'))
  );
}

/** Since when nodes are out of service, by their names. */
class Outages {
  readonly #since = new Map<string, number>();
  /** When nodes came back, by their names: the operator may take them for out for a while. */
  readonly #back = new Map<string, number>();
  /** When nodes were removed, by their names: the operator may count them for a while. */
  readonly #removed = new Map<string, number>();
  /** When nodes had left the plans last, by their names. */
  readonly #left = new Map<string, number>();
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  changed({ type, object }: StoreChange): void {
    const { name } = object.metadata;
    if (this.#isLeft(object)) this.#left.set(name, Number.POSITIVE_INFINITY);
    else if (this.#left.get(name) === Number.POSITIVE_INFINITY)
      this.#left.set(name, this.#around.nowMs());
    if (type === 'removed') this.#removed.set(name, this.#around.nowMs());
    if (type !== 'removed' && !isOut(object) && this.#since.has(name))
      this.#back.set(name, this.#around.nowMs());
    if (type === 'removed' || !isOut(object)) this.#since.delete(name);
    else if (!this.#since.has(name)) this.#since.set(name, this.#around.nowMs());
  }

  #isLeft({ metadata }: Stored): boolean {
    return metadata.labels?.[leftLabel] !== undefined;
  }

  /**
   * It is none of the nodes of plans, or came back so recently that the operator may not know it.
   */
  mayHaveLeft(name: string): boolean {
    const left = this.#left.get(name);
    return left !== undefined && this.#around.nowMs() - left <= this.#around.staleMs();
  }

  /**
   * Of how many nodes a percent may be: all plans of a story select every node but the first. One
   * that is being replaced counts when it is gone, too.
   */
  selectedBy(plan: Stored): number {
    const { store, nowMs, staleMs } = this.#around;
    const recently = [...this.#removed].flatMap(([name, at]) =>
      nowMs() - at <= staleMs() ? [name] : [],
    );
    const gone = [...new Set([...recently, ...inFlight(plan)])].filter(
      name => store.get('nodes', '', name) === undefined,
    );
    return store.list('nodes').length - 1 + gone.length;
  }

  /** It is, or has been until so recently that the operator may not know that it is back. */
  mayBeOut(node: Stored): boolean {
    const back = this.#back.get(node.metadata.name);
    return (
      isOut(node) || (back !== undefined && this.#around.nowMs() - back <= this.#around.staleMs())
    );
  }

  /** For so long that the operator has to know it. */
  isKnown(name: string): boolean {
    const since = this.#since.get(name);
    return since !== undefined && this.#around.nowMs() - since > this.#around.staleMs();
  }
}

/** A plan that begins nothing, and has nothing in flight, limits nobody. */
function isAtRest(plan: Stored): boolean {
  if (inFlight(plan).length > 0) return false;
  const isStopped = ['Paused', 'Aborted'].includes(text(plan, 'spec', 'state'));
  const phase = text(plan, 'status', 'phase');
  const isAsked = phase === 'AwaitingApproval' && text(plan, 'status', 'run', 'stage') === '';
  return (
    isStopped ||
    isAsked ||
    phase === '' ||
    phase === 'Pending' ||
    plan.metadata.deletionTimestamp !== undefined
  );
}

function limitOf(plan: Stored): unknown {
  return isAtRest(plan) ? undefined : at(plan, 'spec', 'concurrency', 'maxUnavailable');
}

/**
 * What plans allow, and have allowed until so recently that the operator may not know of the edit.
 * A plan's own edit it knows: it writes on what it has read.
 */
class Limits {
  readonly #edits: { readonly name: string; readonly until: number; readonly limit: unknown }[] =
    [];
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Before it was made it allowed everything. */
  changed(plan: Stored, before: Stored | undefined): void {
    const limit = before && limitOf(before);
    if (before === undefined || limitOf(plan) !== limit)
      this.#edits.push({ name: plan.metadata.name, until: this.#around.nowMs(), limit });
  }

  of(plan: Stored, begins: string, selected: number): number {
    const { name } = plan.metadata;
    const { nowMs, staleMs } = this.#around;
    const recent =
      name === begins
        ? []
        : this.#edits.filter(edit => edit.name === name && nowMs() - edit.until <= staleMs());
    return Math.max(
      ...[limitOf(plan), ...recent.map(({ limit }) => limit)].map(limit =>
        resolved(limit, selected),
      ),
    );
  }
}

/** A start that the limits do not allow. */
function limitsChecker({ store, fail }: Around, outages: Outages, allowed: Limits) {
  return (object: Stored, node: string): void => {
    const begun = store.get('nodes', '', node);
    const { name } = object.metadata;
    const all = store.list(plans);
    // A node that is out already costs nothing; two plans share its drain.
    const isShared = all.some(
      other => other.metadata.name !== name && inFlight(other).includes(node),
    );
    if (begun === undefined || outages.mayBeOut(begun) || isShared) return;
    const others = store
      .list('nodes')
      .filter(({ metadata }) => metadata.name !== node && outages.isKnown(metadata.name));
    const out = new Set([...all.flatMap(inFlight), ...others.map(({ metadata }) => metadata.name)]);
    out.delete('n0');
    const most = resolved(
      at(object, 'spec', 'concurrency', 'maxInFlight') ?? 1,
      outages.selectedBy(object),
    );
    if (inFlight(object).length > most)
      fail('plans', `plan ${name} has ${inFlight(object).length} in flight, and allows ${most}`);
    for (const plan of all.filter(one => !isOver(one))) {
      const limit = allowed.of(plan, name, outages.selectedBy(plan));
      // A node that is gone is none of its nodes, unless it has begun with it.
      const ofPlan = [...out].filter(
        one =>
          inFlight(plan).includes(one) ||
          (store.get('nodes', '', one) !== undefined && !outages.mayHaveLeft(one)),
      );
      if (ofPlan.length > limit)
        fail(
          'plans',
          `plan ${name} begins with ${node}: ${ofPlan.join(', ')} are out, and ${plan.metadata.name} allows ${limit}`,
        );
    }
    const zones = objects(at(object, 'spec', 'concurrency', 'perTopology')).map(
      ({ maxUnavailable }) => resolved(maxUnavailable, 0),
    );
    const zoneOf = (of: string): string =>
      store.get('nodes', '', of)?.metadata.labels?.[zone] ?? '';
    const there = [...out].filter(
      one => zoneOf(one) === zoneOf(node) && !outages.mayHaveLeft(one),
    ).length;
    if (zones.some(limit => there > limit))
      fail('plans', `plan ${name} begins with ${node}: ${there} nodes of ${zoneOf(node)} are out`);
  };
}

/** What was asked before a node may begin. */
function conditionsChecker({ fail }: Around) {
  return (object: Stored, before: Stored | undefined, node: string): void => {
    const { name } = object.metadata;
    const closed = objects(at(object, 'status', 'gates')).find(
      gate => text(gate, 'value') !== 'True',
    );
    if (closed !== undefined)
      fail('plans', `plan ${name} begins with ${node} past gate ${text(closed, 'name')}`);
    const prepared = objects(at(before ?? object, 'status', 'preparing')).find(
      one => text(one, 'node') === node,
    );
    if (at(object, 'spec', 'prepare') !== undefined && text(prepared ?? {}, 'state') !== 'Prepared')
      fail('plans', `plan ${name} begins with ${node}, which was not got ready`);
    const isStopped = (plan: Stored | undefined): boolean => {
      if (plan === undefined) return false;
      const state = text(plan, 'spec', 'state');
      return state === 'Aborted' || (state === 'Paused' && at(plan, 'spec', 'pause') === undefined);
    };
    if (isStopped(object) && isStopped(before))
      fail('plans', `plan ${name} is ${text(object, 'spec', 'state')}, and begins with ${node}`);
  };
}

export function verdictsIn(record: Stored): readonly Stored[] {
  return Object.values((at(record, 'spec', 'verdicts') ?? {}) as Readonly<Record<string, Stored>>);
}

/**
 * A slot is free when what has become of its node is recorded; or when it was begun with for work
 * that is not asked for any more, and left as it was.
 */
function verdictChecker({ store, fail }: Around) {
  return (before: Stored, object: Stored): void => {
    const now = new Set(
      slotsOf(object).map(one => `${text(one, 'nodeUID')}/${text(one, 'startTime')}`),
    );
    const revision = text(object, 'status', 'run', 'revision');
    for (const slot of slotsOf(before)) {
      const [uid, startTime] = [text(slot, 'nodeUID'), text(slot, 'startTime')];
      const isOtherWork =
        text(slot, 'revision') !== revision && at(slot, 'outcome', 'held') !== true;
      if (now.has(`${uid}/${startTime}`) || isOtherWork) continue;
      const isRecorded = store
        .list(records)
        .some(
          record =>
            text(record, 'spec', 'planName') === object.metadata.name &&
            verdictsIn(record).some(one => text(one, 'nodeUID') === uid),
        );
      // What an earlier work has left is taken over, under another start.
      const isTakenOver = slotsOf(object).some(one => text(one, 'nodeUID') === uid);
      if (!isRecorded && !isTakenOver)
        fail(
          'plans',
          `the slot of ${text(slot, 'node')} in plan ${object.metadata.name} is free, and no verdict is recorded`,
        );
    }
  };
}

export function planChecker(around: Around): Checker {
  const { store, fail } = around;
  const outages = new Outages(around);
  const allowed = new Limits(around);
  const [limits, conditions, verdicts] = [
    limitsChecker(around, outages, allowed),
    conditionsChecker(around),
    verdictChecker(around),
  ];

  const recordChanged = (object: Stored): void => {
    // Somebody makes odd ones, of no plan.
    if (!store.list(plans).some(({ metadata }) => metadata.uid === text(object, 'spec', 'planUID')))
      return;
    const isOfRun = (one: Stored): boolean =>
      ['planUID', 'runID', 'revision'].every(
        field => text(one, 'spec', field) === text(object, 'spec', field),
      );
    const uids = store
      .list(records)
      .filter(isOfRun)
      .flatMap(verdictsIn)
      .map(one => text(one, 'nodeUID'));
    if (new Set(uids).size < uids.length)
      fail('plans', `the records of the run of ${object.metadata.name} have a node twice`);
  };

  const planChanged = (object: Stored, before: Stored | undefined): void => {
    const known = new Set(before === undefined ? [] : inFlight(before));
    const begun = inFlight(object).filter(node => !known.has(node));
    if (begun.length > 1)
      fail('plans', `plan ${object.metadata.name} begins with ${begun.join(', ')} in one decision`);
    if (before !== undefined) verdicts(before, object);
    allowed.changed(object, before);
    const [node] = begun;
    if (node === undefined) return;
    conditions(object, before, node);
    limits(object, node);
  };

  return {
    changed: change => {
      const { type, resource, object } = change;
      if (resource === 'nodes') outages.changed(change);
      if (type === 'removed') return;
      if (resource === records) recordChanged(object);
      if (resource === plans) planChanged(object, 'before' in change ? change.before : undefined);
    },
  };
}
