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

/** The machine that was added for this request: the youngest that nobody is deleting. */
const added = ({ replacement }: MachineSnapshot): Machine | undefined =>
  replacement?.members
    .filter(({ deleting }) => !deleting)
    .toSorted((one, other) => Temporal.Instant.compare(other.createdAt, one.createdAt))[0];

/**
 * The number of machines goes back to what it was. The machine that goes for it is the one that was added: it is put first in line, and the one
 * that was to be replaced taken out of it.
 */
export const revertScale = (snapshot: MachineSnapshot, set: MachineSet): MachineDecision => {
  const { request, machine } = snapshot;
  const mark = markOf(request);
  // It goes all the same, and counts until it is gone: the set takes it, and no other.
  if (machine?.deleting) return releasing(`${set.kind} ${set.name} gets its replica count back`, [scaleWrite(set, request, -1)]);
  if (machine?.deleteMark === mark && !machine.deleting) return releasing('Keeping the machine', [markWrite(machine, null)]);
  const young = added(snapshot);
  if (young !== undefined && young.key !== machine?.key && young.deleteMark === undefined) {
    return releasing('Deleting the machine that was added', [markWrite(young, mark)]);
  }
  return releasing(`${set.kind} ${set.name} gets its replica count back`, [scaleWrite(set, request, -1)]);
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
