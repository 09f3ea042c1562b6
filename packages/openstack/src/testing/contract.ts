import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  ComputeService,
  HostCall,
  NovaServer,
  ServerMigration,
} from '@drydock/core/hypervisor';
import { markOf } from '@drydock/core/hypervisor';
import type { Clock } from '@drydock/utils';
import { silentLog } from '@drydock/utils';
import { HypervisorReconciler } from '../hypervisor-reconciler.ts';
import type { NovaResult } from '../identity.ts';
import type { Nova } from '../nova.ts';
import { desiredOf } from './harness.ts';

type ContractServer = {
  readonly host: string;
  readonly project: 'own' | 'other';
  readonly state: 'active' | 'paused' | 'stopped' | 'error';
};

/**
 * A Nova to hold to the contract: three hosts or more, each of which does one live migration at a
 * time, all enabled and without servers.
 */
export type ContractSite = {
  readonly nova: Nova;
  readonly clock: Clock;
  readonly hosts: readonly string[];
  /** Makes a server, waits until it is as it is to be, and answers its id. */
  readonly make: (server: ContractServer) => Promise<string>;
  /** Deletes it, and waits until it is gone. */
  readonly remove: (id: string) => Promise<void>;
};

type Scene = ContractSite & {
  readonly source: string;
  readonly others: readonly string[];
  readonly signal: AbortSignal;
};

function must<T>(outcome: NovaResult<T>): T {
  if (outcome.failure !== undefined) assert.fail(outcome.failure.message);
  return outcome.value;
}

async function eventually<T>(
  { clock }: Scene,
  look: () => Promise<T | undefined>,
  what: string,
): Promise<T> {
  for (let tries = 0; tries < 240; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await clock.sleep(250);
  }
  throw new Error(`never seen: ${what}`);
}

async function serviceOf({ nova, signal }: Scene, host: string): Promise<ComputeService> {
  const found = must(await nova.services(signal)).find(one => one.host === host);
  assert.ok(found, `no service of ${host}`);
  return found;
}

async function perform(scene: Scene, call: HostCall, host = scene.source) {
  return scene.nova.perform(call, (await serviceOf(scene, host)).id, scene.signal);
}

async function recordOf(
  { nova, source, signal }: Scene,
  server: string,
): Promise<ServerMigration | undefined> {
  return must(await nova.migrations(source, undefined, signal)).find(one => one.server === server);
}

function ended(scene: Scene, server: string, status: string): Promise<ServerMigration> {
  return eventually(
    scene,
    async () => {
      const record = await recordOf(scene, server);
      return record?.status === status ? record : undefined;
    },
    `a migration that is ${status}`,
  );
}

async function serverNow({ nova, signal }: Scene, id: string): Promise<NovaServer> {
  const server = must(await nova.server(id, signal));
  assert.ok(server);
  return server;
}

function idle(scene: Scene, id: string): Promise<NovaServer> {
  return eventually(
    scene,
    async () => {
      const server = await serverNow(scene, id);
      return server.taskState === undefined ? server : undefined;
    },
    'a server without a task',
  );
}

function became(scene: Scene, id: string, vmState: string): Promise<NovaServer> {
  return eventually(
    scene,
    async () => {
      const server = await serverNow(scene, id);
      return server.vmState === vmState && server.taskState === undefined ? server : undefined;
    },
    `a server that is ${vmState}`,
  );
}

/** While no host but the first is enabled. */
async function withoutTargets(scene: Scene, play: () => Promise<void>): Promise<void> {
  try {
    for (const host of scene.others)
      must(await perform(scene, { kind: 'disable', reason: 'contract' }, host));
    await play();
  } finally {
    for (const host of scene.others) must(await perform(scene, { kind: 'enable' }, host));
  }
}

const cases: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  'a service is disabled at once, with a reason, and enabling it takes the reason off':
    async scene => {
      const reason = markOf('drydock: ', 'contract', scene.nova.now());
      must(await perform(scene, { kind: 'disable', reason }));
      const disabled = await serviceOf(scene, scene.source);
      assert.deepEqual([disabled.isEnabled, disabled.disabledReason], [false, reason]);
      must(await perform(scene, { kind: 'enable' }));
      const enabled = await serviceOf(scene, scene.source);
      assert.deepEqual([enabled.isEnabled, enabled.disabledReason], [true, undefined]);
    },
  'a reason of 255 characters is taken': async scene => {
    const reason = markOf('drydock: ', 'x'.repeat(400), scene.nova.now());
    assert.equal(reason.length, 255);
    must(await perform(scene, { kind: 'disable', reason }));
    must(await perform(scene, { kind: 'enable' }));
  },
  'what does not exist is missing': async ({ nova, signal }) => {
    const nobody = '00000000-0000-4000-8000-00000000dead';
    assert.equal(must(await nova.server(nobody, signal)), undefined);
    assert.equal(
      (await nova.perform({ kind: 'live-migrate', server: nobody }, '', signal)).failure?.kind,
      'missing',
    );
    assert.equal((await nova.perform({ kind: 'enable' }, nobody, signal)).failure?.kind, 'missing');
    assert.deepEqual(must(await nova.serversOn('nosuch', signal)), []);
  },
  'servers of all projects are listed, and no others': async scene => {
    const ids = [await scene.make({ host: scene.source, project: 'own', state: 'active' })];
    ids.push(await scene.make({ host: scene.source, project: 'other', state: 'stopped' }));
    const elsewhere = await scene.make({
      host: scene.others[0] ?? '',
      project: 'own',
      state: 'active',
    });
    const listed = must(await scene.nova.serversOn(scene.source, scene.signal));
    assert.deepEqual(listed.map(({ id }) => id).sort(), ids.sort());
    assert.deepEqual(listed.map(({ vmState }) => vmState).sort(), ['active', 'stopped']);
    for (const id of [...ids, elsewhere]) await scene.remove(id);
  },
  'a live migration is accepted, refused while it is under way, and leaves a record of ours':
    async scene => {
      const id = await scene.make({ host: scene.source, project: 'other', state: 'active' });
      must(await perform(scene, { kind: 'live-migrate', server: id }));
      const under = await serverNow(scene, id);
      assert.deepEqual([under.taskState, under.host], ['migrating', scene.source]);
      const { failure } = await perform(scene, { kind: 'live-migrate', server: id });
      assert.deepEqual(
        [failure?.kind, failure?.message.includes('task_state migrating')],
        ['conflict', true],
      );
      const record = await ended(scene, id, 'completed');
      assert.deepEqual(
        [record.type, record.source, record.user],
        ['live-migration', scene.source, scene.nova.userId()],
      );
      const moved = await idle(scene, id);
      assert.deepEqual([moved.vmState, moved.host], ['active', record.target]);
      await scene.remove(id);
    },
  'a paused server moves and stays paused': async scene => {
    const id = await scene.make({ host: scene.source, project: 'own', state: 'paused' });
    must(await perform(scene, { kind: 'live-migrate', server: id }));
    const { target } = await ended(scene, id, 'completed');
    const moved = await idle(scene, id);
    assert.deepEqual([moved.vmState, moved.host], ['paused', target]);
    await scene.remove(id);
  },
  'a stopped server moves cold, waits for its confirmation, and stays stopped': async scene => {
    const id = await scene.make({ host: scene.source, project: 'other', state: 'stopped' });
    const { failure } = await perform(scene, { kind: 'live-migrate', server: id });
    assert.deepEqual(
      [failure?.kind, failure?.message.includes('vm_state stopped')],
      ['conflict', true],
    );
    must(await perform(scene, { kind: 'cold-migrate', server: id }));
    const record = await ended(scene, id, 'finished');
    assert.deepEqual([record.type, record.user], ['migration', scene.nova.userId()]);
    const waiting = await idle(scene, id);
    assert.deepEqual(
      [waiting.vmState, waiting.status, waiting.host],
      ['resized', 'VERIFY_RESIZE', record.target],
    );
    must(await perform(scene, { kind: 'confirm', server: id }));
    await ended(scene, id, 'confirmed');
    // Nova ends the record a moment before the server leaves the state `resized`, in which no task
    // is told.
    const moved = await became(scene, id, 'stopped');
    assert.equal(moved.host, record.target);
    await scene.remove(id);
  },
  'a server in error does not move': async scene => {
    const id = await scene.make({ host: scene.source, project: 'own', state: 'error' });
    for (const kind of ['live-migrate', 'cold-migrate'] as const) {
      const { failure } = await perform(scene, { kind, server: id });
      assert.deepEqual(
        [failure?.kind, failure?.message.includes('vm_state error')],
        ['conflict', true],
      );
    }
    await scene.remove(id);
  },
  'without a valid host a migration is accepted, fails, and only the actions of the server tell why':
    scene =>
      withoutTargets(scene, async () => {
        const id = await scene.make({ host: scene.source, project: 'own', state: 'active' });
        must(await perform(scene, { kind: 'live-migrate', server: id }));
        const record = await ended(scene, id, 'error');
        const stayed = await idle(scene, id);
        assert.deepEqual(
          [stayed.vmState, stayed.host, record.target],
          ['active', scene.source, undefined],
        );
        // Nova ends the record a moment before it writes down why.
        const reason = await eventually(
          scene,
          () => scene.nova.reason(record, scene.signal),
          'a reason',
        );
        assert.match(reason, /^No valid host was found/);
        await scene.remove(id);
      }),
  'nor does a stopped one move then': scene =>
    withoutTargets(scene, async () => {
      const id = await scene.make({ host: scene.source, project: 'own', state: 'stopped' });
      const { failure } = await perform(scene, { kind: 'cold-migrate', server: id });
      assert.equal(failure, undefined);
      const record = await ended(scene, id, 'error');
      // Nova ends the record a moment before it writes down why.
      const reason = await eventually(
        scene,
        () => scene.nova.reason(record, scene.signal),
        'a reason',
      );
      assert.match(reason, /^No valid host was found/);
      const stayed = await idle(scene, id);
      assert.deepEqual([stayed.vmState, stayed.host], ['stopped', scene.source]);
      await scene.remove(id);
    }),
  'what waits in the queue can be called off': async scene => {
    const ids = [await scene.make({ host: scene.source, project: 'own', state: 'active' })];
    ids.push(await scene.make({ host: scene.source, project: 'own', state: 'active' }));
    for (const server of ids) must(await perform(scene, { kind: 'live-migrate', server }));
    const queued = await eventually(
      scene,
      async () =>
        must(await scene.nova.migrations(scene.source, undefined, scene.signal)).find(
          ({ status }) => status === 'queued',
        ),
      'a migration in the queue',
    );
    must(await perform(scene, { kind: 'abort', server: queued.server, migration: queued.id }));
    await ended(scene, queued.server, 'cancelled');
    assert.equal((await idle(scene, queued.server)).host, scene.source);
    const other = ids.find(id => id !== queued.server) ?? '';
    await ended(scene, other, 'completed');
    for (const id of ids) await scene.remove(id);
  },
  'migrations that have not changed are not told again, and those of deleted servers vanish':
    async scene => {
      const first = await scene.make({ host: scene.source, project: 'own', state: 'active' });
      must(await perform(scene, { kind: 'live-migrate', server: first }));
      const { target = '' } = await ended(scene, first, 'completed');
      await scene.clock.sleep(2000);
      const since = scene.nova.now();
      assert.deepEqual(must(await scene.nova.migrations(scene.source, since, scene.signal)), []);
      const arrived = must(await scene.nova.migrations(target, undefined, scene.signal));
      assert.ok(arrived.some(({ server }) => server === first));
      await scene.remove(first);
      assert.equal(await recordOf(scene, first), undefined);
    },
  'a host is emptied and released': async scene => {
    const { nova, clock, source } = scene;
    const ids: string[] = [];
    for (const state of ['active', 'active', 'paused', 'stopped'] as const) {
      ids.push(
        await scene.make({ host: source, project: ids.length % 2 === 0 ? 'own' : 'other', state }),
      );
    }
    const held = new Set([source]);
    const options = {
      log: silentLog,
      touched: () => {},
      held: () => held,
      nodes: () => [{ name: source }],
    };
    const reconciler = new HypervisorReconciler({ nova, clock, ...options });
    const stop = new AbortController();
    const running = reconciler.run(stop.signal);
    reconciler.want(source, desiredOf());
    const isEmpty = async () => {
      const view = reconciler.of(source);
      return typeof view === 'object' && view.empty ? view : undefined;
    };
    const { vms } = await eventually(scene, isEmpty, 'an empty host');
    assert.deepEqual(new Set(vms.map(({ state }) => state)), new Set(['Moved']));
    assert.deepEqual(must(await nova.serversOn(source, scene.signal)), []);
    held.clear();
    reconciler.want(source, undefined);
    await eventually(
      scene,
      async () => ((await serviceOf(scene, source)).isEnabled ? true : undefined),
      'an enabled service',
    );
    stop.abort();
    await running;
    for (const id of ids) await scene.remove(id);
  },
};

/**
 * What is relied on of Nova, as tests against one: the simulated one and real ones are held to the
 * same.
 */
export function novaContract(name: string, open: () => Promise<ContractSite>): void {
  let opened: Promise<ContractSite> | undefined;
  for (const [what, play] of Object.entries(cases)) {
    test(`${name}: ${what}`, async () => {
      opened ??= open();
      const site = await opened;
      const [source = '', ...others] = site.hosts;
      await play({ ...site, source, others, signal: new AbortController().signal });
    });
  }
}
