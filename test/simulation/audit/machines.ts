import { hookName } from '@drydock/core/machine';
import type { ApiCall } from '@drydock/kube-client';
import { at, objects, type Stored, text } from '@drydock/kube-sim';
import { type Around, type Checker, clockErrorMs } from './checker.ts';

/**
 * Machines: only those that something was announced about go, emptied before, and no more of a set
 * at once than may.
 */

const machineMaintenances = 'machinemaintenances.machinemaintenance.managed.openshift.io';

function isOver(one: Stored): boolean {
  return ['Succeeded', 'Cancelled', 'Notified'].includes(text(one, 'status', 'phase'));
}

function isActive(one: Stored): boolean {
  return text(one, 'status', 'startTime') !== '' && !isOver(one);
}

function machineOf(one: Stored): string {
  return text(one, 'spec', 'machineRef', 'name') || text(one, 'spec', 'machinelink');
}

/** Stored times have no fractions of a second, each cut off on its own clock. */
const cutOffMs = 1000;

/** The object is the one that the deletion is meant for. */
function isWanted({ body }: ApiCall, { metadata }: Stored): boolean {
  return (['uid', 'resourceVersion'] as const).every(field =>
    [metadata[field], ''].includes(text(body as Stored, 'preconditions', field)),
  );
}

export function machineChecker({ story, store, nowMs, fail }: Around): Checker {
  const { machines } = story;
  if (machines === undefined) return {};
  const group = machines.flavour === 'openshift' ? 'machine.openshift.io' : 'cluster.x-k8s.io';
  /** One that does not run any more takes nothing away from its set. */
  const isUsable = (one: Stored): boolean => {
    const node = store.get('nodes', '', machineOf(one));
    return objects(at(node, 'status', 'conditions')).some(
      ({ type, status }) => type === 'Ready' && status === 'True',
    );
  };
  /** What the cloud takes within minutes waits for nobody. */
  const isUrgent = (one: Stored): boolean =>
    objects(at(one, 'spec', 'events')).some(
      ({ kind }) => kind === 'preemption' || kind === 'termination',
    );
  const replacing = (machine: Stored): boolean =>
    store
      .list(machineMaintenances)
      .some(
        one =>
          machineOf(one) === machine.metadata.name &&
          isActive(one) &&
          ['Replace', 'ReplaceWithSurge'].includes(text(one, 'status', 'strategy')),
      );
  /**
   * By uid, those that are deleted too: the machine that one of them has marked may go with the
   * next machine that is taken back.
   */
  const surges = new Map<string, Stored>();
  /**
   * Added so that one could replace another, which is kept after all. Where two are taken back,
   * each takes the youngest that is left: it may be the other's.
   */
  const isTakenBack = ({ metadata: { annotations, creationTimestamp } }: Stored): boolean => {
    const all = [...surges.values()];
    const by = all.find(one => one.metadata.uid === annotations?.[`${group}/delete-machine`]);
    return (
      by !== undefined &&
      all.some(
        one =>
          text(one, 'status', 'set') === text(by, 'status', 'set') &&
          Date.parse(text(one, 'status', 'startTime')) - clockErrorMs(story) <=
            Date.parse(creationTimestamp) + cutOffMs,
      )
    );
  };
  /** Names of nodes that a Maintenance has been Drained for. */
  const drained = new Set<string>();
  /** What its cloud has taken by then may be silent. */
  const mayBeTaken = (machine: Stored): boolean =>
    store
      .list(machineMaintenances)
      .some(
        one =>
          machineOf(one) === machine.metadata.name &&
          Date.parse(text(one, 'status', 'deadline')) <= nowMs(),
      );
  /** It stays until its hook goes. */
  const isHooked = ({ metadata: { annotations = {} }, spec }: Stored): boolean =>
    Object.keys(annotations).some(key => key.endsWith(`/${hookName}`)) ||
    objects(at(spec, 'lifecycleHooks', 'preDrain')).some(({ name }) => name === hookName);
  const checkEmptied = (machine: Stored): void => {
    const { name, deletionTimestamp } = machine.metadata;
    if (
      deletionTimestamp !== undefined ||
      drained.has(name) ||
      isHooked(machine) ||
      mayBeTaken(machine)
    )
      return;
    if (isUsable({ ...machine, spec: { machinelink: name } }))
      fail('machines', `machine ${name} is deleted, and nobody has emptied its node`);
  };
  return {
    before: ({ call, target: { resource, namespace, name } }) => {
      if (call.method !== 'GET' && resource === `machines.${group}` && namespace === 'customer')
        fail('machines', `${call.method} of machine ${name} of another cluster`);
      if (call.method !== 'DELETE' || resource !== `machines.${group}`) return;
      const machine = store.get(resource, namespace, name);
      if (machine !== undefined && isWanted(call, machine)) checkEmptied(machine);
    },
    changed: change => {
      const { resource, object, type } = change;
      if (
        resource === machineMaintenances &&
        text(object, 'status', 'strategy') === 'ReplaceWithSurge'
      )
        surges.set(object.metadata.uid, object);
      if (resource === 'maintenances.drydock.dev' && text(object, 'status', 'phase') === 'Drained')
        drained.add(text(object, 'spec', 'nodeName'));
      if (resource === `machines.${group}` && type === 'changed') {
        const isNew =
          object.metadata.deletionTimestamp !== undefined &&
          change.before.metadata.deletionTimestamp === undefined;
        const isByHand = object.metadata.annotations?.['people/given-up'] !== undefined;
        if (
          isNew &&
          !isByHand &&
          isUsable({ ...object, spec: { machinelink: object.metadata.name } }) &&
          !replacing(object) &&
          !isTakenBack(object)
        )
          fail(
            'machines',
            `machine ${object.metadata.name} is deleted, and nothing was announced about it`,
          );
      }
      if (
        resource === machineMaintenances &&
        text(object, 'spec', 'machineRef', 'namespace') === 'customer'
      )
        fail('machines', `${object.metadata.name} is about a machine of another cluster`);
      if (resource !== machineMaintenances || type !== 'changed') return;
      if (at(change.before, 'status', 'startTime') !== undefined || !isActive(object)) return;
      const set = text(object, 'status', 'set');
      if (set === '' || isUrgent(object) || !isUsable(object)) return;
      const active = store
        .list(machineMaintenances)
        .filter(
          one =>
            isActive(one) && !isUrgent(one) && text(one, 'status', 'set') === set && isUsable(one),
        );
      if (active.length > machines.perSet)
        fail(
          'machines',
          `${active.length} machines of ${set} are worked on at once; ${machines.perSet} may be`,
        );
    },
  };
}
