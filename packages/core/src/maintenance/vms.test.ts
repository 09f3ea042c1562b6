import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Attempt } from '../drain/outcome/eviction-outcome.ts';
import { seedPolicy } from '../drain/policy.ts';
import { noHistory } from '../request/request.ts';
import {
  at,
  heldNode,
  makeBudget,
  makeNode,
  makePod,
  makeRequest,
  makeSnapshot,
} from '../testing/make.ts';
import { launcherOf, makeMigration, makeSettings, makeVmi, makeVms } from '../testing/make-vms.ts';
import type { Vmi, VmMigration } from '../vm/kubevirt.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import type { VmPolicy } from '../vm/vm-status.ts';
import { decide } from './decide.ts';
import { emptyMemo, type NodeSnapshot } from './snapshot.ts';

/** VMs of a node that is drained, from the look to what is done. */

const GiB = 2 ** 30;

type Scene = {
  readonly vmis?: readonly Vmi[];
  readonly migrations?: readonly VmMigration[];
  readonly known?: Partial<NodeVms>;
  readonly policy?: Partial<VmPolicy>;
} & Partial<NodeSnapshot>;

function request(policy: Partial<VmPolicy> = {}) {
  return makeRequest('one', {
    history: { ...noHistory, state: 'Draining', drainStartedAt: at(0) },
    policy: {
      ...seedPolicy,
      deleteEmptyDirData: false,
      virtualMachines: { ...seedPolicy.virtualMachines, ...policy },
    },
  });
}

function snapshotOf({
  vmis = [],
  migrations = [],
  known = {},
  policy = {},
  ...over
}: Scene): NodeSnapshot {
  return makeSnapshot({
    requests: [request(policy)],
    pods: vmis.map(vmi => launcherOf(vmi)),
    vms: makeVms({ vmis, migrations, ...known }),
    ...over,
  });
}

function names(snapshot: NodeSnapshot, seconds = 10): readonly string[] {
  return decide(snapshot, at(seconds)).calls.map(
    ({ pod, method }) => `${method} ${pod.owner?.name ?? pod.name}`,
  );
}

type Told = { readonly blockers?: readonly string[]; readonly phase?: string };
function told(snapshot: NodeSnapshot, seconds = 10): Told {
  return (decide(snapshot, at(seconds)).writes.find(({ reportOf }) => reportOf !== undefined)?.body[
    'status'
  ] ?? {}) as Told;
}

function vmis(count: number, over: Partial<Vmi> = {}): readonly Vmi[] {
  return Array.from({ length: count }, (_, index) =>
    makeVmi(`vm${String(index).padStart(2, '0')}`, over),
  );
}

test('one more than KubeVirt moves at a time is asked for; the others wait for their turn', () => {
  const snapshot = snapshotOf({ vmis: vmis(5) });
  assert.deepEqual(names(snapshot), ['evict vm00', 'evict vm01', 'evict vm02']);
  assert.equal(decide(snapshot, at(10)).waitsForSlots, true);
  assert.deepEqual(told(snapshot).blockers, [
    'MigrationQueued virt-launcher-vm03-x',
    'MigrationQueued virt-launcher-vm04-x',
  ]);
});

test('small ones go first, the important ones before all', () => {
  const all = [
    makeVmi('big', { memory: 8 * GiB }),
    makeVmi('small', { memory: GiB }),
    makeVmi('important', { memory: 64 * GiB }),
  ];
  const pods = all.map(vmi => launcherOf(vmi, { priority: vmi.name === 'important' ? 10 : 0 }));
  const settings = makeSettings({ parallelPerNode: 1 });
  assert.deepEqual(names(snapshotOf({ vmis: all, pods, known: { settings } })), [
    'evict important',
    'evict small',
  ]);
});

test('VMs that are on their way elsewhere leave less room, and others’ migrations too, but one is always asked for', () => {
  const asked = (known: Partial<NodeVms>): number =>
    names(snapshotOf({ vmis: vmis(5), known })).length;
  assert.equal(asked({ askedElsewhere: 4 }), 2);
  assert.equal(asked({ askedElsewhere: 6 }), 0);
  assert.equal(asked({ othersUnderWay: 4 }), 2);
  assert.equal(asked({ othersUnderWay: 50 }), 1);
  const inFlightEviction = {
    uid: 'u',
    podKey: 'vms/virt-launcher-q',
    podName: 'virt-launcher-q',
    nodeName: 'n2',
    state: 'sent',
    at: at(9),
  } as const;
  assert.equal(
    names(snapshotOf({ vmis: vmis(5), known: { askedElsewhere: 4 }, inFlight: [inFlightEviction] }))
      .length,
    1,
  );
});

test('a VM that is marked, or has a migration, is not asked for again; its pod is, once it has ended', () => {
  const marked = makeVmi('a', { evacuatedFrom: 'n1' });
  assert.deepEqual(names(snapshotOf({ vmis: [marked] })), []);
  const moving = snapshotOf({
    vmis: [marked],
    migrations: [makeMigration(marked, 'Running', { target: 'n2' })],
  });
  assert.deepEqual(names(moving), []);
  assert.deepEqual(told(moving).blockers, ['Evacuating virt-launcher-a-x']);
  const moved = makeVmi('a', { nodeName: 'n2' });
  assert.deepEqual(
    names(snapshotOf({ vmis: [moved], pods: [launcherOf(moved, { phase: 'Succeeded' })] })),
    ['evict a'],
  );
});

test('asked for again only when the mark is gone, the pod is still there, and time has passed', () => {
  const vmi = makeVmi('a');
  const attempt: Attempt = {
    method: 'evict',
    outcome: { kind: 'evacuating', message: 'triggered' },
    at: at(0),
    tries: 1,
  };
  const snapshot = snapshotOf({ vmis: [vmi], attempts: new Map([[launcherOf(vmi).uid, attempt]]) });
  assert.deepEqual(names(snapshot, 10), []);
  assert.deepEqual(names(snapshot, 40), ['evict a']);
});

test('budgets of older versions do not keep a VM from being asked for; those of a VM that is shut down are heeded', () => {
  const never = makeBudget('kubevirt-disruption-budget-x', {
    key: 'vms/pdb',
    namespace: 'vms',
    selector: { matchLabels: { 'kubevirt.io': 'virt-launcher' } },
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
  });
  assert.deepEqual(names(snapshotOf({ vmis: [makeVmi('a')], budgets: [never] })), ['evict a']);
  const stops = snapshotOf({
    vmis: [makeVmi('a', { strategy: 'None' })],
    budgets: [never],
    requests: [{ ...request(), policy: { ...seedPolicy } }],
  });
  assert.deepEqual(
    [names(stops), told(stops).blockers],
    [[], ['BudgetNeverAllows virt-launcher-a-x']],
  );
});

test('a VM that cannot migrate is not asked for in vain; local data counts for those that are shut down only', () => {
  const cannot = snapshotOf({
    vmis: [makeVmi('a', { migratable: false, notMigratable: 'a disk is not shared' })],
  });
  assert.deepEqual(
    [names(cannot), told(cannot).blockers],
    [[], ['NotMigratable virt-launcher-a-x']],
  );
  const stops = snapshotOf({ vmis: [makeVmi('a', { strategy: 'None' })] });
  assert.deepEqual([names(stops), told(stops).blockers], [[], ['LocalData virt-launcher-a-x']]);
});

test('ShutDown: one that still cannot move at the deadline loses its pod, with the time that the policy gives its guest', () => {
  const policy = {
    notMigratable: 'ShutDown',
    shutDownAfterSeconds: 60,
    shutDownGracePeriodSeconds: 90,
  } as const;
  const snapshot = snapshotOf({
    vmis: [makeVmi('a', { migratable: false }), makeVmi('b')],
    policy,
  });
  assert.deepEqual(names(snapshot, 59), ['evict b']);
  const early = decide(snapshot, at(59));
  assert.ok(
    early.requeueAt && early.requeueAt.epochMilliseconds <= at(60).epochMilliseconds,
    'looks again at the deadline',
  );
  const [deletion] = decide(snapshot, at(60)).calls.filter(({ method }) => method === 'delete');
  assert.deepEqual(
    [
      deletion?.pod.owner?.name,
      deletion?.gracePeriodSeconds,
      deletion?.escalated,
      deletion?.shutsDownVm,
    ],
    ['a', 90, true, true],
  );
  const marked = makeVmi('a', { evacuatedFrom: 'n1' });
  const failing = [
    makeMigration(marked, 'Failed', { failure: 'no luck' }),
    makeMigration(marked, 'Pending', { name: 'z', createdAt: at(5) }),
  ];
  assert.deepEqual(names(snapshotOf({ vmis: [marked], migrations: failing, policy }), 60), [
    'delete a',
  ]);
  const running = [makeMigration(marked, 'Running')];
  assert.deepEqual(names(snapshotOf({ vmis: [marked], migrations: running, policy }), 600), []);
});

test('Refuse: nothing of the node is moved', () => {
  const pods = (vmi: Vmi) => [launcherOf(vmi), makePod('web')];
  const cannot = makeVmi('a', { migratable: false });
  const one = snapshotOf({
    vmis: [cannot],
    pods: pods(cannot),
    policy: { notMigratable: 'Refuse' },
  });
  assert.deepEqual([names(one), told(one).blockers], [[], ['NotMigratable virt-launcher-a-x']]);
  const stops = makeVmi('a', { strategy: 'None' });
  const other = snapshotOf({ vmis: [stops], pods: pods(stops), policy: { notMigrated: 'Refuse' } });
  assert.deepEqual(
    [names(other), told(other).blockers],
    [[], ['VirtualMachineStops virt-launcher-a-x']],
  );
});

test('Wait: one that its eviction would shut down is left running', () => {
  const stops = makeVmi('a', { strategy: 'None' });
  const pods = [launcherOf(stops, { localData: false })];
  const snapshot = snapshotOf({ vmis: [stops], pods, policy: { notMigrated: 'Wait' } });
  assert.deepEqual(
    [names(snapshot), told(snapshot).blockers],
    [[], ['VirtualMachineStops virt-launcher-a-x']],
  );
  assert.deepEqual(names(snapshotOf({ vmis: [stops], pods })), ['evict a']);
});

test('where a VM is being migrated to, and its hot-plugged volumes, are waited for', () => {
  const arriving = makeVmi('a', { nodeName: 'n2' });
  const volume = makePod('hp-volume-x', {
    owner: { kind: 'Pod', name: 'virt-launcher-b-x', uid: 'p', apiVersion: 'v1' },
  });
  const snapshot = snapshotOf({
    vmis: [arriving],
    pods: [launcherOf(arriving), volume],
    migrations: [makeMigration(arriving, 'Running')],
  });
  assert.deepEqual(
    [names(snapshot), told(snapshot).blockers],
    [[], ['EarlierWave hp-volume-x', 'Evacuating virt-launcher-a-x']],
  );
});

test('what became of a VM is remembered: moved, shut down, or back again', () => {
  const [a, b] = [makeVmi('a'), makeVmi('b')];
  const first = decide(snapshotOf({ vmis: [a, b] }), at(10)).notes;
  const later = snapshotOf({
    vmis: [makeVmi('a', { nodeName: 'n2' })],
    pods: [makePod('web')],
    memo: first,
  });
  const { notes } = decide(later, at(20));
  const state = (name: string): unknown =>
    [...(notes.vms?.vms.values() ?? [])].find(vm => vm.name === `vms/${name}`);
  assert.deepEqual(state('a'), {
    platform: 'KubeVirt',
    id: 'vmi-a',
    name: 'vms/a',
    state: 'Moved',
    target: 'n2',
  });
  assert.deepEqual(state('b'), {
    platform: 'KubeVirt',
    id: 'vmi-b',
    name: 'vms/b',
    state: 'Stopped',
  });
});

const released = {
  node: makeNode(),
  requests: [makeRequest('one', { ...request(), deleting: true })],
  leases: new Map(),
};
function calledBack(snapshot: NodeSnapshot, seconds = 10): readonly string[] {
  return decide(snapshot, at(seconds)).writes.map(({ description: what }) => what);
}

test('released: first the marks are taken off, then the migrations that have not begun; what runs goes on, and is told', () => {
  const [waiting, placing, running] = ['a', 'b', 'c'].map(name =>
    makeVmi(name, { evacuatedFrom: 'n1' }),
  ) as [Vmi, Vmi, Vmi];
  const migrations = [makeMigration(placing, 'Scheduling'), makeMigration(running, 'Running')];
  const snapshot = snapshotOf({ vmis: [waiting, placing, running], migrations, ...released });
  const first = decide(snapshot, at(10));
  assert.deepEqual(
    first.writes.map(({ description: what }) => what),
    ['cancel the evacuation of VM vms/a', 'cancel the evacuation of VM vms/b'],
  );
  assert.deepEqual(
    [first.writes[0]?.body, first.writes[0]?.accept],
    [{ evacuationNodeName: 'n1' }, '*/*'],
  );
  const clean = [makeVmi('a'), makeVmi('b'), running];
  const second = snapshotOf({ vmis: clean, migrations, ...released, memo: first.notes });
  assert.deepEqual(calledBack(second), [
    'cancel the migration vms/evacuation-b, which has not begun',
  ]);
  const third = snapshotOf({
    vmis: clean,
    migrations: migrations.slice(1),
    ...released,
    memo: decide(second, at(11)).notes,
  });
  const [last] = decide(third, at(12)).writes;
  assert.equal(last?.description, 'let go');
  assert.match(last?.events.at(-1)?.message ?? '', /move on: vms\/c$/);
});

test('a mark that stays is waited for a little, and then named', () => {
  const snapshot = snapshotOf({ vmis: [makeVmi('a', { evacuatedFrom: 'n1' })], ...released });
  const { notes } = decide(snapshot, at(10));
  assert.deepEqual(calledBack({ ...snapshot, memo: notes }, 11), []);
  const [last] = decide({ ...snapshot, memo: notes }, at(16)).writes;
  assert.deepEqual(
    [last?.description, last?.events.at(-1)?.reason],
    ['let go', 'VirtualMachinesStillMoving'],
  );
});

test('nobody else’s evacuation is called back', () => {
  const vmis = [makeVmi('a', { evacuatedFrom: 'n1' })];
  const stays = snapshotOf({ vmis, ...released, node: makeNode({ unschedulable: true }) });
  assert.deepEqual(calledBack(stays), ['let go']);
  const fresh = makeRequest('one', { deleting: true });
  assert.deepEqual(calledBack(snapshotOf({ vmis, ...released, requests: [fresh] })), ['let go']);
});

test('a drain that has failed calls back what it had asked for, and keeps the node', () => {
  const failed = makeRequest('one', {
    ...request(),
    history: { ...noHistory, state: 'Failed', failure: 'DeadlineExceeded', drainStartedAt: at(0) },
  });
  const snapshot = snapshotOf({
    vmis: [makeVmi('a', { evacuatedFrom: 'n1' })],
    node: heldNode,
    requests: [failed],
    memo: emptyMemo,
  });
  assert.ok(calledBack(snapshot).includes('cancel the evacuation of VM vms/a'));
});

test('law: never more than there is room for, never one that is asked for already, and the order of what is known changes nothing', () => {
  const vm = fc.record({
    marked: fc.boolean(),
    phase: fc.constantFrom(undefined, 'Pending', 'Scheduling', 'Running', 'Failed'),
    migratable: fc.boolean(),
    memory: fc.nat(3),
  });
  const scene = fc.record({
    all: fc.array(vm, { maxLength: 12 }),
    perNode: fc.nat(4),
    perCluster: fc.nat(6),
    askedElsewhere: fc.nat(6),
  });
  fc.assert(
    fc.property(scene, ({ all, perNode, perCluster, askedElsewhere }) => {
      const vmis = all.map(({ marked, migratable, memory }, index) =>
        makeVmi(`v${index}`, {
          migratable,
          memory: memory * GiB,
          ...(marked && { evacuatedFrom: 'n1' }),
        }),
      );
      const migrations = all.flatMap(({ phase }, index) => {
        const vmi = vmis[index];
        return phase === undefined || vmi === undefined ? [] : [makeMigration(vmi, phase)];
      });
      const settings = makeSettings({ parallelPerNode: perNode, parallelPerCluster: perCluster });
      const known = { settings, askedElsewhere };
      const called = names(snapshotOf({ vmis, migrations, known }));
      const busy = all.filter(
        ({ marked, phase }) => marked || (phase !== undefined && phase !== 'Failed'),
      ).length;
      assert.ok(called.length === 0 || called.length + busy <= perNode + 1);
      assert.ok(called.length === 0 || called.length + busy + askedElsewhere <= perCluster + 1);
      const free = new Set(
        all.flatMap(({ marked, phase, migratable }, index) =>
          !marked && (phase === undefined || phase === 'Failed') && migratable
            ? [`evict v${index}`]
            : [],
        ),
      );
      assert.ok(called.every(name => free.has(name)));
      const turned = snapshotOf({
        vmis: vmis.toReversed(),
        migrations: migrations.toReversed(),
        known,
      });
      assert.deepEqual(names(turned), called);
    }),
  );
});
