import { isUid } from '@drydock/apimachinery';
import { deleteChildWrite } from '../../maintenance/child.ts';
import type { Write } from '../../write.ts';
import { hookName, type Machine, type MachineSet } from '../machine.ts';
import type { MachineRequest } from '../request.ts';
import type { MachineDecision, MachineSnapshot } from '../snapshot.ts';
import { hookWrite, markWrite, scaleWrite } from '../writes.ts';

/** Withdrawal of the work that has been done for a request. */

/** Returns the mark of this request: a mark of another owner stays. */
export function markOf(request: MachineRequest): string {
  return request.uid;
}

function releasing(message: string, writes: readonly Write[] = []): MachineDecision {
  return {
    phase: 'Releasing',
    reason: 'Ending',
    message,
    writes,
  };
}

/**
 * Reports whether Drydock wrote a mark: it is the uid of a machine maintenance, which may be
 * deleted by now. Marks of any other form are those of people.
 */
function isSurgeMark(
  mark: string | undefined,
  request: MachineRequest,
  { surges }: MachineSet,
): mark is string {
  return mark !== undefined && (mark === markOf(request) || surges.has(mark) || isUid(mark));
}

function youngestFirst(one: Machine, other: Machine): number {
  return Temporal.Instant.compare(other.createdAt, one.createdAt);
}

/**
 * Returns the machine that is deleted when the set shrinks by one: a marked one, or the youngest
 * that has to be marked first. Each surge of a set keeps one machine marked until it shrinks the
 * set, and the controller may delete any of them. Undefined if the set has fewer machines than it
 * wants: then none is deleted.
 */
function nextInLine(
  snapshot: MachineSnapshot,
  set: MachineSet,
): { readonly machine: Machine; readonly isMarked: boolean } | undefined {
  const { request, machine, replacement } = snapshot;
  const members = replacement?.set.key === set.key ? replacement.members : [];
  if (members.length < set.replicas) return undefined;
  const others = members
    .filter(({ deleting, key }) => !deleting && key !== machine?.key)
    .toSorted(youngestFirst);
  const marked = others.filter(({ deleteMark }) => isSurgeMark(deleteMark, request, set));
  const own = marked.find(({ deleteMark }) => deleteMark === markOf(request));
  const young = others.find(({ deleteMark }) => deleteMark === undefined);
  if (own === undefined && young !== undefined && marked.length < set.surges.size)
    return { machine: young, isMarked: false };
  const [first] = own === undefined ? marked : [own];
  return first && { machine: first, isMarked: true };
}

/**
 * Restores the number of machines. The added machine is the one to be deleted for it: it is marked
 * as the next, and the mark of the machine that was to be replaced is removed. The mark is written
 * again, unchanged, before the number: if the machine has changed since the snapshot, because
 * another surge was reverted meanwhile, the set does not shrink, for its controller would pick any
 * machine.
 */
export function revertScale(snapshot: MachineSnapshot, set: MachineSet): MachineDecision {
  const { request, machine } = snapshot;
  const mark = markOf(request);
  const message = `${set.kind} ${set.name} gets its replica count back`;
  // The machine is deleted in any case, and counts until it is gone: the set takes it, and no
  // other.
  if (machine?.deleting) return releasing(message, [scaleWrite(set, request, -1)]);
  if (machine?.deleteMark === mark)
    return releasing('Keeping the machine', [markWrite(machine, null)]);
  const next = nextInLine(snapshot, set);
  if (next === undefined) return releasing(message, [scaleWrite(set, request, -1)]);
  if (!next.isMarked)
    return releasing('Deleting the machine that was added', [markWrite(next.machine, mark)]);
  return releasing(message, [
    markWrite(next.machine, next.machine.deleteMark ?? mark),
    scaleWrite(set, request, -1),
  ]);
}

/** Withdraws the rest of the work; undefined if nothing is left. */
export function withdraw(snapshot: MachineSnapshot): MachineDecision | undefined {
  const { request, machine, surged, child } = snapshot;
  const [set] = surged;
  if (set !== undefined) return revertScale(snapshot, set);
  if (machine !== undefined && machine.deleteMark === markOf(request) && !machine.deleting) {
    return releasing('Keeping the machine', [markWrite(machine, null)]);
  }
  if (machine?.preDrainHooks.some(({ name }) => name === hookName)) {
    return releasing('Removing the pre-drain hook of the machine; its own controllers continue', [
      hookWrite(machine, false),
    ]);
  }
  return deleteChild(child);
}

/** Releases the node; undefined when it is released. */
export function deleteChild(child: MachineSnapshot['child']): MachineDecision | undefined {
  if (child === undefined) return undefined;
  return releasing('The node is being released', child.deleting ? [] : [deleteChildWrite(child)]);
}
