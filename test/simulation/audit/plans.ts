import { at, objects, type Stored, text } from '../../../src/embedded/object.ts';
import type { Around, Checker } from './checker.ts';

/** Plans: never more nodes begun with than any plan allows, whoever has begun with them, and one verdict a node. */

const plans = 'maintenanceplans.drydock.dev';
const records = 'maintenanceplanrecords.drydock.dev';

const inFlight = (plan: Stored): readonly string[] => objects(at(plan, 'status', 'inFlight')).map(one => text(one, 'node'));

const limitOf = (plan: Stored, name: string): number => {
  const limit = at(plan, 'spec', 'concurrency', name);
  return typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
};

const isReady = (node: Stored): boolean =>
  objects(at(node, 'status', 'conditions')).some(({ type, status }) => type === 'Ready' && status === 'True');

const isOut = (node: Stored | undefined): boolean => node === undefined || at(node, 'spec', 'unschedulable') === true || !isReady(node);

export const planChecker = ({ store, fail }: Around): Checker => ({
  changed: ({ type, resource, object, ...change }) => {
    if (type === 'removed') return;
    const before = 'before' in change ? change.before : undefined;
    if (resource === records) {
      const nodes = Object.values((at(object, 'spec', 'verdicts') ?? {}) as object).map(verdict => text(verdict as Stored, 'nodeUID'));
      if (new Set(nodes).size < nodes.length) fail('plans', `record ${object.metadata.name} has a node twice`);
    }
    if (resource !== plans) return;
    const known = new Set(before === undefined ? [] : inFlight(before));
    const begun = inFlight(object).filter(node => !known.has(node));
    if (begun.length > 1) fail('plans', `plan ${object.metadata.name} begins with ${begun.join(', ')} in one decision`);
    const [node = ''] = begun;
    if (node !== '') {
      const closed = objects(at(object, 'status', 'gates')).find(gate => text(gate, 'value') !== 'True');
      if (closed !== undefined) fail('plans', `plan ${object.metadata.name} begins with ${node} past gate ${text(closed, 'name')}`);
      const prepared = objects(at(before ?? object, 'status', 'preparing')).find(one => text(one, 'node') === node);
      if (at(object, 'spec', 'prepare') !== undefined && text(prepared ?? {}, 'state') !== 'Prepared')
        fail('plans', `plan ${object.metadata.name} begins with ${node}, which was not got ready`);
    }
    // A node that is out already costs nothing.
    if (node === '' || isOut(store.get('nodes', '', node))) return;
    const all = store.list(plans);
    const out = new Set(all.flatMap(inFlight));
    if (inFlight(object).length > limitOf(object, 'maxInFlight'))
      fail('plans', `plan ${object.metadata.name} has ${inFlight(object).length} in flight`);
    for (const plan of all) {
      const limit = Math.min(limitOf(plan, 'maxUnavailable'), limitOf(plan, 'maxUnavailableAbsolute'));
      if (out.size > limit)
        fail(
          'plans',
          `plan ${object.metadata.name} begins with ${begun.join()}: ${out.size} nodes are out, and ${plan.metadata.name} allows ${limit}`,
        );
    }
  },
});
