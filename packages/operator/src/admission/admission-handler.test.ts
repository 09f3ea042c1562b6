import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { type AdmissionKind, webhookKinds } from '@drydock/apis/admission-rules';
import { PanicHandler, silentLog, systemClock, VirtualClock } from '@drydock/utils';
import { AdmissionHandler } from './admission-handler.ts';
import type { AdmissionVerdict, Review } from './review.ts';
import {
  alpha,
  budgets,
  collections,
  controlPlane,
  creation,
  guards,
  kubevirt,
  leases,
  maintenance,
  medik8s,
  nameOf,
  node,
  object,
  own,
  pathOf,
  review,
} from './testing/make.ts';
import { MemoryServer } from './testing/server.ts';

function serverWith(...nodes: readonly JsonObject[]): MemoryServer {
  const server = new MemoryServer(collections);
  for (const one of nodes) server.put(`/api/v1/nodes/${nameOf(one)}`, one);
  return server;
}

function gateTo(api: MemoryServer, openShift = false, clock = systemClock): AdmissionHandler {
  return new AdmissionHandler({
    api,
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    openShift,
    namespace: own,
    planProblems: () => [],
  });
}

async function ask(
  api: MemoryServer,
  kind: AdmissionKind,
  asked: Review,
  openShift = false,
): Promise<string> {
  const gate = gateTo(api, openShift);
  const verdict = await gate.decide(kind, asked);
  await gate.close();
  return verdict.kind === 'allowed' ? 'allowed' : verdict.message;
}

function fails(path: string, message: string) {
  return (call: { readonly method: string; readonly path: string }) =>
    call.method === 'GET' && call.path === path
      ? { status: 500, headers: {}, body: { kind: 'Status', message } }
      : undefined;
}

const message3 =
  'can not put master/control-plane node into maintenance at this moment, disrupting node cp-0 will violate etcd quorum';
const override =
  'the annotation drydock.dev/allow-quorum-loss: "true" on the maintenance object overrides this';

describe('a NodeMaintenance of any generation', () => {
  for (const kind of [medik8s, kubevirt, alpha]) {
    const of = `(${kind.name})`;
    const create = (api: MemoryServer, nodeName: string, name = 'new'): Promise<string> =>
      ask(api, kind, creation(kind, object(name, nodeName)));

    test(`1: an unknown node ${of}`, async () => {
      assert.equal(
        await create(serverWith(), 'n1'),
        'invalid nodeName, no node with name n1 found',
      );
    });

    test(`1: what no node can be called is not asked for ${of}`, async () => {
      for (const name of ['..', 'a/b', 'N1', '-a']) {
        const api = serverWith(node('n1'));
        assert.equal(await create(api, name), `invalid nodeName, no node with name ${name} found`);
        assert.deepEqual(api.calls, []);
      }
    });

    test(`1e: a node that cannot be read ${of}`, async () => {
      const api = serverWith(node('n1'));
      api.intercept = fails('/api/v1/nodes/n1', 'etcd is down');
      assert.equal(
        await create(api, 'n1'),
        'could not get node for validating spec.NodeName, please try again: could not get node: etcd is down',
      );
    });

    test(`2: a node that is taken, in any phase and by an object on its way out as well ${of}`, async () => {
      const api = serverWith(node('n1'));
      const taken = 'invalid nodeName, a NodeMaintenance for node n1 already exists';
      api.put(pathOf(kind, 'old'), { ...object('old', 'n1'), status: { phase: 'Failed' } });
      assert.equal(await create(api, 'n1'), taken);
      api.put(
        pathOf(kind, 'old'),
        object('old', 'n1', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      );
      assert.equal(await create(api, 'n1'), taken);
      api.remove(pathOf(kind, 'old'));
      assert.equal(await create(api, 'n1'), 'allowed');
    });

    test(`2e: objects that cannot be listed ${of}`, async () => {
      const api = serverWith(node('n1'));
      api.intercept = fails(kind.collections[0] ?? '', 'no list today');
      assert.equal(
        await create(api, 'n1'),
        'could not list NodeMaintenances for validating spec.NodeName, please try again: no list today',
      );
    });

    test(`4: a node that is changed afterwards, without any read ${of}`, async () => {
      const api = serverWith(node('n1'), node('n2'));
      const asked = review(kind, 'UPDATE', {
        object: object('one', 'n2'),
        oldObject: object('one', 'n1'),
      });
      assert.equal(await ask(api, kind, asked), "updating spec.NodeName isn't allowed");
      assert.deepEqual(api.calls, []);
    });

    test(`updates of anything else pass without any read ${of}`, async () => {
      const api = serverWith();
      const before = object('one', 'n1');
      const finalized = object(
        'one',
        'n1',
        {},
        { finalizers: ['foregroundDeleteNodeMaintenance'] },
      );
      const reasoned = object('one', 'n1', { reason: 'another' });
      for (const after of [finalized, reasoned, { ...before, status: { phase: 'Running' } }]) {
        assert.equal(
          await ask(api, kind, review(kind, 'UPDATE', { object: after, oldObject: before })),
          'allowed',
        );
      }
      assert.deepEqual(api.calls, []);
    });

    test(`5: another kind ${of}`, async () => {
      const asked = creation(kind, object('one', 'n1'), { kind: 'Pod' });
      assert.equal(
        await ask(serverWith(), kind, asked),
        'expected a NodeMaintenance but got a Pod',
      );
    });

    test(`6: deletions, and subresources, pass ${of}`, async () => {
      const api = serverWith();
      assert.equal(
        await ask(api, kind, review(kind, 'DELETE', { oldObject: object('one', 'n1') })),
        'allowed',
      );
      assert.equal(
        await ask(api, kind, creation(kind, object('one', 'n1'), { subresource: 'status' })),
        'allowed',
      );
      assert.deepEqual(api.calls, []);
    });
  }

  test('is named after its node where it has no spec', async () => {
    const api = serverWith(node('n1'));
    const bare = (name: string): JsonObject => ({ metadata: { name, uid: `uid-${name}` } });
    assert.equal(await ask(api, alpha, creation(alpha, bare('n1'))), 'allowed');
    assert.equal(
      await ask(api, alpha, creation(alpha, bare('n2'))),
      'invalid nodeName, no node with name n2 found',
    );
    api.put(pathOf(alpha, 'n1'), bare('n1'));
    assert.match(
      await ask(api, alpha, creation(alpha, object('other', 'n1'))),
      /a NodeMaintenance for node n1 already exists/,
    );
    assert.equal(
      await ask(
        api,
        alpha,
        review(alpha, 'UPDATE', { object: object('n1', 'n2'), oldObject: bare('n1') }),
      ),
      "updating spec.NodeName isn't allowed",
    );
    assert.equal(
      await ask(
        api,
        alpha,
        review(alpha, 'UPDATE', { object: object('n1', 'n1'), oldObject: bare('n1') }),
      ),
      'allowed',
    );
  });

  test('is found under the version that is served', async () => {
    const api = serverWith(node('n1'));
    const [first = '', second = ''] = alpha.collections;
    api.served.delete(first);
    api.served.add(second);
    api.put(`${second}/n1`, { metadata: { name: 'n1', uid: 'u' } });
    assert.match(await ask(api, alpha, creation(alpha, object('new', 'n1'))), /already exists/);
  });

  test('does not mind objects of another kind on its node', async () => {
    const api = serverWith(node('n1'));
    for (const kind of [kubevirt, alpha, maintenance])
      api.put(pathOf(kind, 'other'), object('other', 'n1'));
    assert.equal(await ask(api, medik8s, creation(medik8s, object('new', 'n1'))), 'allowed');
  });
});

describe('etcd on OpenShift', () => {
  const budget = (name: string, disruptionsAllowed: number): JsonObject => ({
    metadata: { name, namespace: 'openshift-etcd', uid: name },
    spec: { selector: { matchLabels: { app: 'guard' } } },
    status: { disruptionsAllowed },
  });
  const guard = (nodeName: string, ready: string): JsonObject => ({
    metadata: {
      name: `guard-${nodeName}`,
      namespace: 'openshift-etcd',
      uid: nodeName,
      labels: { app: 'guard' },
    },
    spec: { nodeName },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  });
  const master = { 'node-role.kubernetes.io/master': '' };
  const cluster = (
    allowed: number | undefined,
    ready: string | undefined,
    labels: Readonly<Record<string, string>> = controlPlane,
  ): MemoryServer => {
    const api = serverWith(
      node('cp-0', labels),
      node('cp-1', labels),
      node('cp-2', labels),
      node('w'),
    );
    if (allowed !== undefined)
      api.put(`${budgets}/etcd-quorum-guard`, budget('etcd-quorum-guard', allowed));
    if (ready !== undefined) api.put(`${guards}/guard-cp-0`, guard('cp-0', ready));
    return api;
  };
  const create = (api: MemoryServer, kind = medik8s, nodeName = 'cp-0'): Promise<string> =>
    ask(api, kind, creation(kind, object('new', nodeName)), true);

  const rows: readonly (readonly [string, number | undefined, string | undefined, string])[] = [
    ['allows 0, guard Ready', 0, 'True', message3],
    ['allows 0, guard Unknown', 0, 'Unknown', message3],
    ['allows 0, guard not Ready', 0, 'False', 'allowed'],
    ['allows 0, no guard on the node', 0, undefined, 'allowed'],
    ['allows 1', 1, 'True', 'allowed'],
    ['is not there', undefined, 'True', message3],
  ];
  for (const [what, allowed, ready, response] of rows) {
    for (const labels of [controlPlane, master]) {
      test(`3: the budget ${what} ${Object.keys(labels)[0]}`, async () =>
        assert.equal(await create(cluster(allowed, ready, labels)), response));
    }
  }

  test('3: is not asked for a worker, nor anywhere but on OpenShift', async () => {
    const api = cluster(undefined, 'True');
    assert.equal(await create(api, medik8s, 'w'), 'allowed');
    assert.equal(await ask(api, medik8s, creation(medik8s, object('new', 'cp-0'))), 'allowed');
    assert.ok(api.calls.every(({ path }) => !path.includes('openshift-etcd')));
  });

  test('3: the count says the same words, when the budget allows what other maintenances are about to take', async () => {
    const api = cluster(1, 'True');
    api.put(pathOf(maintenance, 'other'), object('other', 'cp-2'));
    assert.equal(await create(api), message3);
    assert.equal(await create(api, maintenance), message3);
    assert.equal(
      await create(api, kubevirt, 'cp-0'),
      'can not put master node into maintenance at this moment, it would violate the master quorum',
    );
  });

  test('3e: budgets and pods that cannot be read, and a selector of another sort, are told as they are', async () => {
    const unread = cluster(0, 'True');
    unread.intercept = fails(budgets, 'poddisruptionbudgets.policy is forbidden');
    assert.equal(await create(unread), 'poddisruptionbudgets.policy is forbidden');
    unread.intercept = fails(guards, 'pods is forbidden');
    assert.equal(await create(unread), 'pods is forbidden');
    const odd = cluster(0, 'True');
    const selector = { matchExpressions: [{ key: 'app', operator: 'Exists' }] };
    odd.put(`${budgets}/etcd-quorum-guard`, {
      ...budget('etcd-quorum-guard', 0),
      spec: { selector },
    });
    assert.equal(
      await create(odd),
      'operator "Exists" cannot be converted into the old label selector format',
    );
  });

  test("3e: nodes that cannot be read for the count are told in the rule's words", async () => {
    const api = cluster(1, 'True');
    api.intercept = fails('/api/v1/nodes', 'too many requests');
    assert.equal(
      await create(api),
      'could not get node for master/control-plane quorum validation, please try again: too many requests',
    );
    assert.equal(
      await create(api, kubevirt),
      'could not get node for master quorum validation, please try again: too many requests',
    );
  });

  test('the annotation overrides both rules', async () => {
    const api = cluster(0, 'True');
    api.put(pathOf(maintenance, 'other'), object('other', 'cp-2'));
    const annotations = { 'drydock.dev/allow-quorum-loss': 'true' };
    for (const kind of [medik8s, kubevirt, alpha, maintenance]) {
      const daring = object('daring', 'cp-0', {}, { annotations });
      assert.equal(await ask(api, kind, creation(kind, daring), true), 'allowed');
      api.put(pathOf(kind, 'daring'), daring);
      assert.notEqual(await create(api, kind), 'allowed');
    }
  });

  describe('as KubeVirt asked it, by name and whatever the cluster is', () => {
    const no =
      'can not put master node into maintenance at this moment, it would violate the master quorum';
    const createK = (api: MemoryServer): Promise<string> =>
      ask(api, kubevirt, creation(kubevirt, object('new', 'cp-0')));

    test('none allowed', async () => assert.equal(await createK(cluster(0, 'False', master)), no));
    test('one allowed', async () =>
      assert.equal(await createK(cluster(1, 'True', master)), 'allowed'));
    test('no such budget', async () =>
      assert.equal(await createK(cluster(undefined, 'True', master)), 'allowed'));
    test('a node without the label master', async () =>
      assert.equal(await createK(cluster(0, 'True', controlPlane)), 'allowed'));
    test('a budget that cannot be read', async () => {
      const api = cluster(0, 'True', master);
      api.intercept = fails(`${budgets}/etcd-quorum-guard`, 'go away');
      assert.equal(
        await createK(api),
        'could not get etcd-quorum-guard PDB for master quorum validation, please try again: go away',
      );
    });
  });
});

function guardBudget(disruptionsAllowed: number): JsonObject {
  return {
    metadata: { name: 'etcd-quorum-guard', namespace: 'openshift-etcd', uid: 'guard' },
    spec: { selector: { matchLabels: { app: 'guard' } } },
    status: { disruptionsAllowed },
  };
}

describe('the quorum anywhere else', () => {
  const three = (): MemoryServer =>
    serverWith(
      node('cp-0', controlPlane),
      node('cp-1', controlPlane),
      node('cp-2', controlPlane),
      node('w'),
    );
  const because = `2 of 3 control-plane nodes must stay; out of service or about to be: cp-2; ${override}`;

  test('counts maintenances of every kind, those on their way out as well', async () => {
    for (const other of [medik8s, kubevirt, alpha, maintenance]) {
      const api = three();
      api.put(
        pathOf(other, 'other'),
        object('other', 'cp-2', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      );
      assert.equal(
        await ask(api, maintenance, creation(maintenance, object('new', 'cp-0'))),
        `${message3}: ${because}`,
      );
    }
  });

  test('lets the older kinds pass, as their operators did, and says what is at stake', async () => {
    for (const kind of [medik8s, kubevirt, alpha]) {
      const api = three();
      api.put(pathOf(maintenance, 'other'), object('other', 'cp-2'));
      const gate = gateTo(api);
      assert.deepEqual(await gate.decide(kind, creation(kind, object('new', 'cp-0'))), {
        kind: 'allowed',
        warnings: [
          'cp-0 is one of 3 control-plane nodes, of which 2 must stay: without it etcd loses its quorum, and the API server stops responding until the node is back',
        ],
      });
      await gate.close();
    }
  });

  test('lets the only control-plane node pass for every kind, with a warning, and of two none', async () => {
    for (const kind of [medik8s, kubevirt, alpha, maintenance]) {
      const gate = gateTo(serverWith(node('cp-0', controlPlane)));
      const verdict = await gate.decide(kind, creation(kind, object('new', 'cp-0')));
      assert.match(
        JSON.stringify(verdict),
        /"allowed","warnings":\["cp-0 is the only control-plane node: while it is out of service, the API server may not respond/,
      );
      await gate.close();
    }
    const two = serverWith(node('cp-0', controlPlane), node('cp-1', controlPlane));
    assert.match(
      await ask(two, maintenance, creation(maintenance, object('new', 'cp-0'))),
      /of 2 control-plane nodes none can be spared/,
    );
    assert.equal(await ask(two, medik8s, creation(medik8s, object('new', 'cp-0'))), 'allowed');
  });

  test('leaves those out that announce only, or have given their node back', async () => {
    const api = three();
    api.put(pathOf(maintenance, 'other'), object('other', 'cp-2', { level: 'Announce' }));
    api.put(pathOf(maintenance, 'another'), {
      ...object('another', 'cp-1'),
      status: { failure: 'Released' },
    });
    assert.equal(
      await ask(api, maintenance, creation(maintenance, object('new', 'cp-0'))),
      'allowed',
    );
  });

  test('is not asked of workers, of announcements, and of nodes that are not there yet', async () => {
    const api = three();
    for (const name of ['cp-1', 'cp-2']) api.put(pathOf(maintenance, name), object(name, name));
    assert.equal(await ask(api, maintenance, creation(maintenance, object('new', 'w'))), 'allowed');
    assert.equal(
      await ask(
        api,
        maintenance,
        creation(maintenance, object('new', 'cp-0', { level: 'Announce' })),
      ),
      'allowed',
    );
    assert.equal(
      await ask(api, maintenance, creation(maintenance, object('new', 'later'))),
      'allowed',
    );
    assert.match(
      await ask(
        api,
        maintenance,
        creation(maintenance, object('new', 'cp-0', { level: 'Cordon' })),
      ),
      /violate etcd quorum/,
    );
  });

  test('is asked when an announcement becomes more, unless that is on its way out', async () => {
    const api = three();
    api.put(pathOf(maintenance, 'other'), object('other', 'cp-2'));
    const before = object('one', 'cp-0', { level: 'Announce' });
    const update = (metadata: JsonObject): Review =>
      review(maintenance, 'UPDATE', {
        object: object('one', 'cp-0', { level: 'Drain' }, metadata),
        oldObject: before,
      });
    assert.equal(await ask(api, maintenance, update({ generation: 2 })), `${message3}: ${because}`);
    assert.equal(
      await ask(api, maintenance, update({ deletionTimestamp: '2026-01-01T00:00:00Z' })),
      'allowed',
    );
    api.remove(pathOf(maintenance, 'other'));
    assert.equal(await ask(api, maintenance, update({ generation: 2 })), 'allowed');
  });

  test('on OpenShift the only control-plane node cannot go, and the text says no more than the contract', async () => {
    const api = serverWith(node('cp-0', controlPlane));
    api.put(`${budgets}/etcd-quorum-guard`, guardBudget(1));
    assert.equal(await ask(api, medik8s, creation(medik8s, object('new', 'cp-0')), true), message3);
  });

  test('a Maintenance of a node that cannot be read is told so', async () => {
    const api = three();
    api.intercept = fails('/api/v1/nodes/cp-0', 'etcd is down');
    assert.equal(
      await ask(api, maintenance, creation(maintenance, object('new', 'cp-0'))),
      'could not get node for master/control-plane quorum validation, please try again: etcd is down',
    );
  });
});

/** What the API server does: asks a replica of the webhook, and stores a moment after a yes. */
async function createVia(
  gate: AdmissionHandler,
  api: MemoryServer,
  kind: AdmissionKind,
  created: JsonObject,
  storeAfterMs = 20,
): Promise<AdmissionVerdict> {
  const verdict = await gate.decide(kind, creation(kind, created));
  if (verdict.kind === 'denied') return verdict;
  await systemClock.sleep(storeAfterMs);
  api.put(pathOf(kind, nameOf(created)), created);
  return verdict;
}

function messagesOf(verdicts: readonly AdmissionVerdict[]): readonly string[] {
  return verdicts.map(verdict => (verdict.kind === 'allowed' ? 'allowed' : verdict.message)).sort();
}

describe('requests at the same time, through three replicas', () => {
  const replicas = (api: MemoryServer): readonly AdmissionHandler[] => [
    gateTo(api),
    gateTo(api),
    gateTo(api),
  ];
  const through = (gates: readonly AdmissionHandler[], index: number): AdmissionHandler =>
    gates[index % gates.length] as AdmissionHandler;

  test('eight for one node: one is stored, the others get message 2', async () => {
    const api = serverWith(node('n1'));
    const gates = replicas(api);
    const verdicts = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        createVia(through(gates, index), api, medik8s, object(`one-${index}`, 'n1')),
      ),
    );
    const taken = 'invalid nodeName, a NodeMaintenance for node n1 already exists';
    assert.deepEqual(messagesOf(verdicts), ['allowed', ...Array.from({ length: 7 }, () => taken)]);
    assert.equal(
      api.paths.filter(path => path.startsWith(medik8s.collections[0] ?? '?')).length,
      1,
    );
    await Promise.all(gates.map(gate => gate.close()));
  });

  for (const [count, most] of [
    [3, 1],
    [7, 3],
  ] as const) {
    test(`eight for ${count} different control-plane nodes: ${most} are stored, of whatever kind`, async () => {
      const names = Array.from({ length: count }, (_, index) => `cp-${index}`);
      const api = serverWith(...names.map(name => node(name, controlPlane)));
      api.put(`${budgets}/etcd-quorum-guard`, guardBudget(8));
      const gates = [gateTo(api, true), gateTo(api, true), gateTo(api, true)];
      const kinds = [medik8s, maintenance, kubevirt, alpha];
      const verdicts = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          createVia(
            through(gates, index),
            api,
            kinds[index % 4] as AdmissionKind,
            object(`one-${index}`, names[index % count] ?? ''),
          ),
        ),
      );
      const stored = api.paths
        .filter(path => path.includes('/one-'))
        .map(
          path =>
            (api.get(path) as unknown as { readonly spec: { readonly nodeName: string } }).spec
              .nodeName,
        );
      assert.equal(new Set(stored).size, most, messagesOf(verdicts).join('\n'));
      await Promise.all(gates.map(gate => gate.close()));
    });
  }

  test('nodes that have nothing to do with each other do not wait for each other', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
    const api = serverWith(...names.map(name => node(name)));
    const gate = gateTo(api);
    const verdicts = await Promise.all(
      names.map(name => gate.decide(medik8s, creation(medik8s, object(name, name)))),
    );
    assert.deepEqual(new Set(messagesOf(verdicts)), new Set(['allowed']));
    await gate.close();
  });
});

describe('a reservation', () => {
  const untilFree = async (api: MemoryServer): Promise<void> => {
    for (let tries = 0; tries < 200 && api.paths.some(path => path.startsWith(leases)); tries += 1)
      await systemClock.sleep(10);
  };

  test('is not made for a dry run, and none is waited for', async () => {
    const api = serverWith(
      node('n1'),
      node('cp-0', controlPlane),
      node('cp-1', controlPlane),
      node('cp-2', controlPlane),
    );
    for (const nodeName of ['n1', 'cp-0']) {
      const asked = creation(medik8s, object('new', nodeName), { dryRun: true });
      assert.equal(await ask(api, medik8s, asked), 'allowed');
    }
    assert.deepEqual(api.written, []);
  });

  test('is gone soon after its object is stored, so that the next request need not wait', async () => {
    const api = serverWith(node('n1'));
    const gate = gateTo(api);
    await createVia(gate, api, medik8s, object('one', 'n1'));
    assert.equal(api.paths.filter(path => path.startsWith(leases)).length, 1);
    await untilFree(api);
    assert.deepEqual(
      api.paths.filter(path => path.startsWith(leases)),
      [],
    );
    api.remove(pathOf(medik8s, 'one'));
    assert.equal((await createVia(gate, api, medik8s, object('two', 'n1'))).kind, 'allowed');
    await gate.close();
  });

  test('that nobody gave back is over as soon as its object is stored', async () => {
    const api = serverWith(node('n1'));
    const gone = gateTo(api);
    await gone.decide(medik8s, creation(medik8s, object('one', 'n1')));
    await gone.close();
    api.put(pathOf(medik8s, 'one'), object('one', 'n1'));
    assert.match(await ask(api, medik8s, creation(medik8s, object('two', 'n1'))), /already exists/);
  });

  test('that nobody gave back, of an object that is never stored, is waited for two seconds, by whatever clock it was made', async () => {
    const clock = new VirtualClock();
    const api = serverWith(node('n1'));
    const gone = gateTo(api, false, new VirtualClock(clock.now().add({ seconds: 40 })));
    await gone.decide(medik8s, creation(medik8s, object('one', 'n1')));
    await gone.close();
    const gate = gateTo(api, false, clock);
    const verdicts: AdmissionVerdict[] = [];
    const deciding = gate
      .decide(medik8s, creation(medik8s, object('two', 'n1')))
      .then(given => verdicts.push(given));
    for (let seconds = 0; seconds < 1.5; seconds += 0.5) await clock.advance(500);
    assert.deepEqual(verdicts, [], 'it waits');
    for (let seconds = 0; seconds < 2; seconds += 0.5) await clock.advance(500);
    await deciding;
    assert.deepEqual(messagesOf(verdicts), ['allowed']);
    await gate.close();
  });

  test('of a minute ago is nobody’s, and is swept away', async () => {
    const clock = new VirtualClock();
    const api = serverWith(node('n1'), node('n2'));
    const gone = gateTo(api, false, clock);
    await gone.decide(medik8s, creation(medik8s, object('one', 'n1')));
    await gone.decide(medik8s, creation(medik8s, object('two', 'n2')));
    await gone.close();
    api.put(`${leases}/135b1886.medik8s.io`, { metadata: { name: '135b1886.medik8s.io' } });
    clock.jump(61_000);
    const gate = gateTo(api, false, clock);
    assert.equal(
      (await gate.decide(medik8s, creation(medik8s, object('three', 'n1')))).kind,
      'allowed',
    );
    await gate.sweep();
    const left = api.paths.filter(path => path.startsWith(leases));
    assert.equal(left.length, 2, 'the leader lease, and the reservation that was just made');
    await gate.close();
  });

  test('is released at once when what is seen under it says no', async () => {
    const api = serverWith(node('n1'));
    const gate = gateTo(api);
    api.intercept = ({ method }) => {
      // Stored by an API server that does not ask the webhook, between the two looks.
      if (method === 'POST') api.put(pathOf(medik8s, 'quick'), object('quick', 'n1'));
      return undefined;
    };
    const verdict = await gate.decide(medik8s, creation(medik8s, object('one', 'n1')));
    assert.deepEqual(messagesOf([verdict]), [
      'invalid nodeName, a NodeMaintenance for node n1 already exists',
    ]);
    await untilFree(api);
    assert.deepEqual(
      api.paths.filter(path => path.startsWith(leases)),
      [],
    );
    await gate.close();
  });

  test('that cannot be made denies, and says why', async () => {
    const api = serverWith(node('n1'));
    api.intercept = ({ method }) =>
      method === 'POST'
        ? { status: 403, headers: {}, body: { message: 'leases is forbidden' } }
        : undefined;
    assert.equal(
      await ask(api, medik8s, creation(medik8s, object('one', 'n1'))),
      'could not reserve node n1 for this maintenance, please try again: leases is forbidden',
    );
  });

  test('is answered within twelve seconds, whoever has it', async () => {
    const clock = new VirtualClock();
    const api = serverWith(node('n1'));
    const gate = gateTo(api, false, clock);
    let count = 0;
    // Somebody else takes it again and again.
    api.intercept = ({ method, path }) => {
      if (method !== 'GET' || !path.startsWith(leases)) return undefined;
      count += 1;
      const subject = { path: '/apis/nowhere', uid: 'other', generation: 0 };
      const annotations = { 'drydock.dev/reserved-for': JSON.stringify(subject) };
      const metadata = { name: 'x', resourceVersion: String(count), annotations };
      return {
        status: 200,
        headers: {},
        body: { metadata, spec: { renewTime: clock.now().toString() } },
      };
    };
    const deciding = gate.decide(medik8s, creation(medik8s, object('one', 'n1')));
    for (let seconds = 0; seconds <= 12; seconds += 0.5) await clock.advance(500);
    assert.deepEqual(messagesOf([await deciding]), [
      'could not reserve node n1 for this maintenance, please try again: other requests kept reserving it',
    ]);
    await gate.close();
  });
});

describe('what destroys, or overrules others', () => {
  const waiver = { annotations: { 'drydock.dev/allow-quorum-loss': 'true' } };
  const ladder = [{ afterSeconds: 60, action: 'Delete' }];
  const said: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['waive-quorum', {}, waiver],
    ['delete-pods', { drain: { disableEviction: true } }, {}],
    ['delete-pods', { drain: { ladder } }, {}],
    ['shut-down-vms', { drain: { virtualMachines: { notMigratable: 'ShutDown' } } }, {}],
  ];

  for (const [right, spec, metadata] of said) {
    test(`takes the right ${right}, when it is made and when it is added: ${JSON.stringify(spec)}`, async () => {
      const api = serverWith(node('w'));
      const daring = object('one', 'w', spec, metadata);
      const added = review(maintenance, 'UPDATE', {
        object: daring,
        oldObject: object('one', 'w'),
      });
      for (const asked of [creation(maintenance, daring), added])
        assert.equal(await ask(api, maintenance, asked), 'allowed');
      api.denied.add(`ann ${right}`);
      const no = new RegExp(
        `^this object .*: that, and a change of what it applies to, needs the right ${right} on maintenances\\.drydock\\.dev, which you do not have; to check, run kubectl auth can-i ${right} `,
      );
      for (const asked of [creation(maintenance, daring), added])
        assert.match(await ask(api, maintenance, asked), no);
      const unchanged = review(maintenance, 'UPDATE', {
        object: { ...daring, status: { phase: 'Draining' } },
        oldObject: daring,
      });
      assert.equal(
        await ask(api, maintenance, unchanged),
        'allowed',
        'what was agreed to stays so, whoever writes the rest',
      );
      const taken = review(maintenance, 'UPDATE', {
        object: object('one', 'w'),
        oldObject: daring,
      });
      assert.equal(await ask(api, maintenance, taken), 'allowed', 'taking it back takes no right');
    });
  }

  test('is asked of every kind that can say it: as the user of the request, in its namespace', async () => {
    const machine = webhookKinds().find(({ resource }) => resource === 'machinemaintenances');
    assert.ok(machine);
    const api = serverWith();
    const gate = gateTo(api);
    const created = {
      metadata: { name: 'mm', namespace: 'drydock-system' },
      spec: { events: [{ kind: 'termination', id: 'e' }, { kind: 'reboot' }] },
    };
    const asked: Review = {
      ...creation(medik8s, created),
      kind: 'MachineMaintenance',
      version: 'v1alpha1',
      namespace: 'drydock-system',
    };
    assert.equal((await gate.decide(machine, asked)).kind, 'allowed');
    assert.deepEqual(
      api.calls.map(({ body }) => (body as { readonly spec: unknown }).spec),
      [
        {
          user: 'ann',
          uid: undefined,
          groups: ['system:authenticated'],
          extra: undefined,
          resourceAttributes: {
            group: 'machinemaintenance.managed.openshift.io',
            resource: 'machinemaintenances',
            verb: 'declare-urgent',
            namespace: 'drydock-system',
          },
        },
      ],
    );
    api.denied.add('ann declare-urgent');
    assert.equal((await gate.decide(machine, asked)).kind, 'denied');
    await gate.close();
  });

  test('is denied when nobody can say whether it may be', async () => {
    const api = serverWith(node('w'));
    api.intercept = ({ path }) =>
      path.includes('subjectaccessreviews')
        ? { status: 500, headers: {}, body: { kind: 'Status', message: 'no' } }
        : undefined;
    const asked = creation(maintenance, object('one', 'w', { drain: { disableEviction: true } }));
    assert.match(
      await ask(api, maintenance, asked),
      /^could not check whether you have the right delete-pods on maintenances\.drydock\.dev, please try again: no$/,
    );
  });
});

describe('a flood of forged reviews', () => {
  test('a version that is none is answered without a read: it would become part of a path', async () => {
    const api = serverWith(node('n1'));
    for (const version of ['v1beta1/../../../api/v1/secrets?', 'v9', '..']) {
      const forged = creation(medik8s, object('new', 'n1'), { version });
      assert.equal(
        await ask(api, medik8s, forged),
        'nodemaintenances.nodemaintenance.medik8s.io is supported only in version v1beta1',
      );
    }
    assert.deepEqual(api.calls, []);
  });

  for (const [what, uid] of [
    ['one uid', () => 'forged'],
    ['ever other uids', (index: number) => `forged-${index}`],
  ] as const) {
    test(`keeps an honest request waiting for some seconds and no longer: five a second for the control plane, under ${what}`, async () => {
      const clock = new VirtualClock();
      const api = serverWith(
        node('cp-0', controlPlane),
        node('cp-1', controlPlane),
        node('cp-2', controlPlane),
      );
      const gates = [gateTo(api, false, clock), gateTo(api, false, clock)];
      const forge = (index: number): void => {
        const forged = {
          ...object(`forged-${index}`, 'cp-1'),
          metadata: { name: `forged-${index}`, uid: uid(index) },
        };
        void gates[1]?.decide(maintenance, creation(maintenance, forged));
      };
      let sent = 0;
      const turn = async (): Promise<void> => {
        if (sent % 2 === 0) forge(sent);
        sent += 1;
        await clock.advance(100);
        for (let quiet = 0; quiet < 30; quiet += 1)
          await new Promise(resolve => setImmediate(resolve));
      };
      for (let before = 0; before < 20; before += 1) await turn();
      const responses: AdmissionVerdict[] = [];
      const asked = clock.now().epochMilliseconds;
      void gates[0]
        ?.decide(maintenance, creation(maintenance, object('honest', 'cp-0')))
        .then(verdict => responses.push(verdict));
      while (responses.length === 0 && clock.now().epochMilliseconds - asked < 12_000) await turn();
      const waited = clock.now().epochMilliseconds - asked;
      assert.deepEqual(responses, [{ kind: 'allowed' }]);
      assert.ok(waited < 9000, `it took ${waited} ms; the API server gives up after 15,000`);
      await Promise.all([...gates.map(gate => gate.close()), clock.advance(20_000)]);
    });
  }
});

describe('a node that the operator itself runs on', () => {
  const pods = `/api/v1/namespaces/${own}/pods`;
  const replica = (name: string, nodeName: string): JsonObject => ({
    metadata: {
      name,
      namespace: own,
      uid: name,
      resourceVersion: '1',
      labels: { 'app.kubernetes.io/name': 'drydock' },
    },
    spec: { nodeName },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const warnings = async (
    nodes: readonly string[],
    replicas: readonly string[],
    fail?: string,
  ): Promise<readonly string[]> => {
    const api = new MemoryServer([...collections, pods]);
    for (const name of nodes) api.put(`/api/v1/nodes/${name}`, node(name));
    for (const [index, at] of replicas.entries())
      api.put(`${pods}/drydock-${index}`, replica(`drydock-${index}`, at));
    if (fail !== undefined) api.intercept = fails(fail, 'broken');
    const gate = gateTo(api);
    const verdict = await gate.decide(maintenance, creation(maintenance, object('new', 'n1')));
    await gate.close();
    assert.equal(verdict.kind, 'allowed');
    return verdict.kind === 'allowed' ? (verdict.warnings ?? []) : [];
  };

  test('is let pass with a warning where no other node may run it', async () => {
    const [warning = '', ...others] = await warnings(['n1'], ['n1', 'n1']);
    assert.match(
      warning,
      /^pod drydock-system\/drydock-0 of the operator stays on the node, for no other node may run it \(there is no other node\)/,
    );
    assert.deepEqual(others, []);
  });

  test('and without where another one may, where another replica runs, and where it is not known', async () => {
    assert.deepEqual(await warnings(['n1', 'n2'], ['n1']), []);
    assert.deepEqual(await warnings(['n1'], ['n1', 'elsewhere']), []);
    assert.deepEqual(await warnings(['n1'], ['n2']), []);
    for (const path of [pods, '/api/v1/nodes'])
      assert.deepEqual(await warnings(['n1'], ['n1'], path), []);
  });
});
