import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makeRequest } from '../testing/make.ts';
import { launcherOf, makeVmi, makeVms } from '../testing/make-vms.ts';
import { storedVms, vmsNow } from './blockers-now.ts';

/** What `drydock status` says of the VMs of one maintenance. */

const nothing = { pods: [], budgets: [], daemonSets: new Set<string>() };
const none = { total: 0, waiting: 0, migrating: 0, moved: 0, stopped: 0, cannot: 0, left: 0 };
function progress(id: string, state: string) {
  return { platform: 'KubeVirt', id, name: `shop/${id}`, state };
}
function stored(virtualMachines: object) {
  return makeRequest('one', { status: { virtualMachines } as never });
}

test('what the status stores: in numbers without those there are none of, and those that are not gone yet', () => {
  const items = [
    progress('a', 'Moved'),
    progress('b', 'Migrating'),
    progress('c', 'Cannot'),
    progress('d', 'Left'),
    progress('e', 'Stopped'),
  ];
  const request = stored({
    ...none,
    total: 5,
    moved: 1,
    migrating: 1,
    cannot: 1,
    left: 1,
    stopped: 1,
    items,
  });
  const summary = '5 VMs: 1 moved, 1 being migrated, 1 that cannot move, 1 shut down, 1 left alone';
  assert.deepEqual(vmsNow(request, nothing, at(0)), { summary, open: [items[1], items[2]] });
  assert.deepEqual(storedVms(request), { summary, items });
});

test('one is one, and a list that is not there is empty', () => {
  const request = stored({ ...none, total: 1, waiting: 1 });
  assert.deepEqual(vmsNow(request, nothing, at(0)), { summary: '1 VM: 1 waiting', open: [] });
  assert.deepEqual(storedVms(request), { summary: '1 VM: 1 waiting', items: [] });
});

test('none: nothing is said', () => {
  assert.equal(vmsNow(stored(none), nothing, at(0)), undefined);
  assert.equal(vmsNow(makeRequest('one'), nothing, at(0)), undefined);
  assert.equal(storedVms(makeRequest('one')), undefined);
});

test('a kind that stores none: as they are now', () => {
  const vmi = makeVmi('a');
  const found = vmsNow(
    makeRequest('one'),
    { ...nothing, pods: [launcherOf(vmi)], vms: makeVms({ vmis: [vmi] }) },
    at(0),
  );
  assert.match(found?.summary ?? '', /^1 VM: 1 /);
  assert.equal(found?.open.length, 1);
});
