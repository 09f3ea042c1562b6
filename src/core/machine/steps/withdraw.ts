import { deleteChildWrite } from '../../maintenance/child.ts';
import type { Write } from '../../write.ts';
import { hookName, type Machine, type MachineSet } from '../machine.ts';
import type { MachineRequest } from '../request.ts';
import type { MachineDecision, MachineSnapshot } from '../snapshot.ts';
import { hookWrite, markWrite, scaleWrite } from '../writes.ts';

/** Taking back what has been done for a request. */

/** The mark says whose it is: somebody else's stays. */
export const markOf = (request: MachineRequest): string => request.uid;

const releasing = (message: string, writes: readonly Write[] = []): MachineDecision => ({
  phase: 'Releasing',
  reason: 'Ending',
  message,
  writes,
});

/** A mark of Drydock is the uid of a machine maintenance, also of one that is gone; people mark machines too, for reasons of their own. */
const uidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const isSurgeMark = (mark: string | undefined, request: MachineRequest, { surges }: MachineSet): mark is string =>
  mark !== undefined && (mark === markOf(request) || surges.has(mark) || uidPattern.test(mark));

const byAge = (one: Machine, other: Machine): number => Temporal.Instant.compare(other.createdAt, one.createdAt);

/**
 * The machine that goes when the set is made smaller by one: put first in line already, or the youngest that is not. Of several surges of a set each has one
 * machine in line until it makes the set smaller, and the controller may take any of them. Missing: the set has fewer machines than it wants, and none goes.
 */
const nextInLine = (snapshot: MachineSnapshot, set: MachineSet): { readonly machine: Machine; readonly isMarked: boolean } | undefined => {
  const { request, machine, replacement } = snapshot;
  const members = replacement?.set.key === set.key ? replacement.members : [];
  if (members.length < set.replicas) return undefined;
  const others = members.filter(({ deleting, key }) => !deleting && key !== machine?.key).toSorted(byAge);
  const marked = others.filter(({ deleteMark }) => isSurgeMark(deleteMark, request, set));
  const own = marked.find(({ deleteMark }) => deleteMark === markOf(request));
  const young = others.find(({ deleteMark }) => deleteMark === undefined);
  if (own === undefined && young !== undefined && marked.length < set.surges.size) return { machine: young, isMarked: false };
  const [first] = own === undefined ? marked : [own];
  return first && { machine: first, isMarked: true };
};

/**
 * The number of machines goes back to what it was. The machine that goes for it is the one that was added: it is put first in line, and the one
 * that was to be replaced taken out of it. The mark is written once more, as it is, before the number: where the machine is not as it was seen, because
 * another surge was taken back meanwhile, the set is not made smaller, for its controller would choose any machine.
 */
export const revertScale = (snapshot: MachineSnapshot, set: MachineSet): MachineDecision => {
  const { request, machine } = snapshot;
  const mark = markOf(request);
  const message = `${set.kind} ${set.name} gets its replica count back`;
  // It goes all the same, and counts until it is gone: the set takes it, and no other.
  if (machine?.deleting) return releasing(message, [scaleWrite(set, request, -1)]);
  if (machine?.deleteMark === mark && !machine.deleting) return releasing('Keeping the machine', [markWrite(machine, null)]);
  const next = nextInLine(snapshot, set);
  if (next === undefined) return releasing(message, [scaleWrite(set, request, -1)]);
  if (!next.isMarked) return releasing('Deleting the machine that was added', [markWrite(next.machine, mark)]);
  return releasing(message, [markWrite(next.machine, next.machine.deleteMark ?? mark), scaleWrite(set, request, -1)]);
};

/** Takes back what is left of the work; undefined when nothing is. */
export const withdraw = (snapshot: MachineSnapshot): MachineDecision | undefined => {
  const { request, machine, surged, child } = snapshot;
  const [set] = surged;
  if (set !== undefined) return revertScale(snapshot, set);
  if (machine !== undefined && machine.deleteMark === markOf(request) && !machine.deleting) {
    return releasing('Keeping the machine', [markWrite(machine, null)]);
  }
  if (machine?.preDrainHooks.some(({ name }) => name === hookName)) {
    return releasing('Removing the pre-drain hook of the machine; its own controllers continue', [hookWrite(machine, false)]);
  }
  return deleteChild(child);
};

/** The node is released; undefined when it has been. */
export const deleteChild = (child: MachineSnapshot['child']): MachineDecision | undefined => {
  if (child === undefined) return undefined;
  return releasing('The node is being released', child.deleting ? [] : [deleteChildWrite(child)]);
};
