import { pathSegment, secondsBetween } from '@drydock/apimachinery';
import type { Write } from '../write.ts';
import { isOver, type Vmi, type VmMigration } from './kubevirt.ts';
import { hasBegun, type NodeVms } from './vm-pod.ts';

const subresources = '/apis/subresources.kubevirt.io/v1';
const objects = '/apis/kubevirt.io/v1';

function place({ namespace, name }: Pick<Vmi, 'namespace' | 'name'>, plural: string): string {
  return `/namespaces/${pathSegment(namespace)}/${plural}/${pathSegment(name)}`;
}

/**
 * Removes the mark from the VM: no migration is begun for it any more. One that runs goes on
 * (kubevirt 1.7, evacuate/cancel).
 */
function cancelMark(vmi: Vmi, nodeName: string): Write {
  return {
    description: `cancel the evacuation of VM ${vmi.key}`,
    method: 'PUT',
    path: `${subresources}${place(vmi, 'virtualmachineinstances')}/evacuate/cancel`,
    body: { evacuationNodeName: nodeName },
    // Its response is empty; to a request for JSON it responds 406 and does nothing (observed on
    // 1.7).
    accept: '*/*',
    cache: 'vms',
    events: [],
  };
}

/** Ends a migration whose VM has not begun to move. */
function deleteMigration(migration: VmMigration): Write {
  return {
    description: `cancel the migration ${migration.key}, which has not begun`,
    method: 'DELETE',
    path: `${objects}${place(migration, 'virtualmachineinstancemigrations')}`,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: migration.uid } },
    cache: 'vms',
    events: [],
  };
}

/** The cancelled part of the evacuation of a node, and the part that goes on. */
export type EvictionCancellation = {
  readonly writes: readonly Write[];
  /** `namespace/name` of the VMs that move all the same, sorted. */
  readonly goingOn: readonly string[];
  /** uids of cancelled evacuations, and when: each is cancelled once. */
  readonly asked: ReadonlyMap<string, Temporal.Instant>;
  /** True if some cancellations have not been observed yet. */
  readonly waits: boolean;
};

/** Seconds after which a mark that is still there will stay. */
const seenWithin = 5;

/**
 * Cancels evacuations that have not begun: first the marks, then the migrations that were created
 * for them, because otherwise new ones would be created at once. Each is cancelled once; an
 * evacuation that is not cancelled goes on, and is named.
 */
export function cancelEvictions(
  nodeName: string,
  { vmis, migrations }: Pick<NodeVms, 'vmis' | 'migrations'>,
  before: ReadonlyMap<string, Temporal.Instant>,
  now: Temporal.Instant,
): EvictionCancellation {
  const isFresh = (uid: string): boolean => {
    const at = before.get(uid);
    return at === undefined || secondsBetween(at, now) < seenWithin;
  };
  const current = migrations.filter(one => !isOver(one) && one.evacuates === nodeName);
  const running = new Set(current.filter(hasBegun).map(({ vmi }) => vmi));
  const marked = vmis.filter(vmi => vmi.evacuatedFrom === nodeName && !running.has(vmi.key));
  const isMarked = new Set(marked.map(({ key }) => key));
  const idle = current.filter(
    one => !running.has(one.vmi) && !isMarked.has(one.vmi) && !one.deleting,
  );
  const marks = marked.filter(({ uid }) => !before.has(uid));
  const ends = idle.filter(({ uid }) => !before.has(uid));
  return {
    writes: [...marks.map(vmi => cancelMark(vmi, nodeName)), ...ends.map(deleteMigration)],
    goingOn: [
      ...running,
      ...marked.filter(({ uid }) => !isFresh(uid)).map(({ key }) => key),
    ].sort(),
    asked: new Map([...before, ...[...marks, ...ends].map(({ uid }) => [uid, now] as const)]),
    waits: [...marked, ...idle].some(({ uid }) => isFresh(uid)),
  };
}
