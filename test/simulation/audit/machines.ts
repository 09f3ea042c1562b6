import { at, objects, type Stored, text } from '../../../src/embedded/object.ts';
import type { Around, Checker } from './checker.ts';

/** Machines: only those that something was announced about go, and no more of a set at once than may. */

const machineMaintenances = 'machinemaintenances.machinemaintenance.managed.openshift.io';

const isOver = (one: Stored): boolean => ['Succeeded', 'Cancelled', 'Notified'].includes(text(one, 'status', 'phase'));

const isActive = (one: Stored): boolean => text(one, 'status', 'startTime') !== '' && !isOver(one);

const machineOf = (one: Stored): string => text(one, 'spec', 'machineRef', 'name') || text(one, 'spec', 'machinelink');

export const machineChecker = ({ story, store, fail }: Around): Checker => {
  const { machines } = story;
  if (machines === undefined) return {};
  const group = machines.flavour === 'openshift' ? 'machine.openshift.io' : 'cluster.x-k8s.io';
  /** One that does not run any more takes nothing away from its set. */
  const isUsable = (one: Stored): boolean => {
    const node = store.get('nodes', '', machineOf(one));
    return objects(at(node, 'status', 'conditions')).some(({ type, status }) => type === 'Ready' && status === 'True');
  };
  /** What the cloud takes within minutes waits for nobody. */
  const isUrgent = (one: Stored): boolean =>
    objects(at(one, 'spec', 'events')).some(({ kind }) => kind === 'preemption' || kind === 'termination');
  const replacing = (machine: Stored): boolean =>
    store
      .list(machineMaintenances)
      .some(
        one =>
          machineOf(one) === machine.metadata.name &&
          isActive(one) &&
          ['Replace', 'ReplaceWithSurge'].includes(text(one, 'status', 'strategy')),
      );
  /** Added so that it could replace another, which is kept after all. */
  const isTakenBack = ({ metadata: { annotations, creationTimestamp } }: Stored): boolean =>
    store
      .list(machineMaintenances)
      .some(
        one =>
          one.metadata.uid === annotations?.[`${group}/delete-machine`] &&
          text(one, 'status', 'strategy') === 'ReplaceWithSurge' &&
          text(one, 'status', 'startTime') <= creationTimestamp,
      );
  return {
    changed: change => {
      const { resource, object, type } = change;
      if (resource === `machines.${group}` && type === 'changed') {
        const isNew = object.metadata.deletionTimestamp !== undefined && change.before.metadata.deletionTimestamp === undefined;
        const isByHand = object.metadata.annotations?.['people/given-up'] !== undefined;
        if (
          isNew &&
          !isByHand &&
          isUsable({ ...object, spec: { machinelink: object.metadata.name } }) &&
          !replacing(object) &&
          !isTakenBack(object)
        )
          fail('machines', `machine ${object.metadata.name} is deleted, and nothing was announced about it`);
      }
      if (resource !== machineMaintenances || type !== 'changed') return;
      if (at(change.before, 'status', 'startTime') !== undefined || !isActive(object)) return;
      const set = text(object, 'status', 'set');
      if (set === '' || isUrgent(object) || !isUsable(object)) return;
      const active = store
        .list(machineMaintenances)
        .filter(one => isActive(one) && !isUrgent(one) && text(one, 'status', 'set') === set && isUsable(one));
      if (active.length > machines.perSet)
        fail('machines', `${active.length} machines of ${set} are worked on at once; ${machines.perSet} may be`);
    },
  };
};
