import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeMigration, makeVmi } from '../testing/make-vms.ts';
import type { Vmi, VmMigration } from './kubevirt.ts';
import { cancelEvictions } from './vm-pod.ts';

const nothingAsked: ReadonlyMap<string, Temporal.Instant> = new Map();
const marked = makeVmi('a', { evacuatedFrom: 'n1' });

function recalled(
  vmis: readonly Vmi[],
  migrations: readonly VmMigration[],
  before = nothingAsked,
  seconds = 0,
) {
  const { writes, goingOn, waits } = cancelEvictions(
    'n1',
    { vmis, migrations },
    before,
    at(seconds),
  );
  return {
    asks: writes.map(({ method, path }) => `${method} ${path.split('/').slice(4).join('/')}`),
    goingOn,
    waits,
  };
}

const cancel = 'PUT namespaces/vms/virtualmachineinstances/a/evacuate/cancel';
const end = 'DELETE namespaces/vms/virtualmachineinstancemigrations/evacuation-a';

test('what is over, belongs to another node or was begun by a user is not called back, and not told of', () => {
  const { evacuates: _none, ...byHand } = makeMigration(marked, 'Scheduling');
  const nothingOfOurs = [
    makeMigration(marked, 'Succeeded'),
    makeMigration(marked, 'Failed'),
    makeMigration(marked, 'Running', { evacuates: 'n2' }),
    byHand,
  ];
  for (const migration of nothingOfOurs) {
    assert.deepEqual(recalled([makeVmi('a')], [migration]), {
      asks: [],
      goingOn: [],
      waits: false,
    });
    assert.deepEqual(recalled([marked], [migration]), { asks: [cancel], goingOn: [], waits: true });
  }
  assert.deepEqual(recalled([makeVmi('a', { evacuatedFrom: 'n2' })], []), {
    asks: [],
    goingOn: [],
    waits: false,
  });
});

test('a mark and a migration are each asked about once; a mark that is still there after five seconds goes on', () => {
  const asked = new Map([[marked.uid, at(0)]]);
  assert.deepEqual(recalled([marked], [], asked, 4.9), { asks: [], goingOn: [], waits: true });
  assert.deepEqual(recalled([marked], [], asked, 5), {
    asks: [],
    goingOn: ['vms/a'],
    waits: false,
  });
  const scheduling = makeMigration(marked, 'Scheduling');
  assert.deepEqual(recalled([makeVmi('a')], [scheduling], asked, 1), {
    asks: [end],
    goingOn: [],
    waits: true,
  });
  const both = new Map([...asked, [scheduling.uid, at(1)] as const]);
  assert.deepEqual(recalled([makeVmi('a')], [scheduling], both, 2), {
    asks: [],
    goingOn: [],
    waits: true,
  });
  assert.deepEqual(recalled([makeVmi('a')], [{ ...scheduling, deleting: true }], asked, 1), {
    asks: [],
    goingOn: [],
    waits: false,
  });
});
