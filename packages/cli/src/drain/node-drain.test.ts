import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DrainPolicy, seedPolicy } from '@drydock/core/drain';
import type { NodeSnapshot } from '@drydock/core/maintenance';
import { emptyMemo } from '@drydock/core/maintenance';
import type { Pod } from '@drydock/core/pod';
import { drainRequest } from '@drydock/core/request';
import { at, makeBudget, makePod, makeSnapshot } from '@drydock/core/testing';
import { type DrainUpdate, NodeDrain } from './node-drain.ts';

const careful: DrainPolicy = {
  ...seedPolicy,
  force: false,
  deleteEmptyDirData: false,
  ignoreDaemonSets: false,
};

/** A drain and what it tells; `look` shows it pods at a moment and answers whom it wants to go. */
function bench(policy: DrainPolicy = seedPolicy, timeoutSeconds?: number) {
  const tales: string[] = [];
  const text = (update: DrainUpdate): string => {
    if (update.kind === 'ended') return `ended ${update.errors.join(' | ')}`.trim();
    return update.kind === 'warning' || update.kind === 'waits'
      ? `${update.kind} ${update.text}`
      : `${update.kind} ${update.pod.name}`;
  };
  const request = drainRequest('n1', policy, at(0));
  const drain = new NodeDrain({
    request,
    timeoutSeconds,
    report: (_node, update) => tales.push(text(update)),
  });
  let notes = emptyMemo;
  const look = (
    pods: readonly Pod[] | undefined,
    seconds = 1,
    over: Partial<NodeSnapshot> = {},
  ) => {
    const {
      pods: _none,
      node: _node,
      ...snapshot
    } = makeSnapshot({ requests: [request], memo: notes, leases: new Map(), ...over });
    const decision = drain.decide({ ...snapshot, ...(pods && { pods }) }, at(seconds));
    notes = decision.notes;
    return decision;
  };
  return { drain, tales, look };
}

function names(decision: ReturnType<ReturnType<typeof bench>['look']>): readonly string[] {
  return decision.calls.map(({ pod }) => pod.name);
}
function bare(name: string, over: Partial<Pod> = {}): Pod {
  const { owner: _owner, ...pod } = makePod(name, over);
  return pod;
}

test('nothing goes before it is certain which pods are there', () => {
  const { look, tales } = bench();
  assert.deepEqual(names(look(undefined)), []);
  const early = look([makePod('a')], 1, { podsConfirmed: false });
  assert.deepEqual([names(early), early.confirmPods], [[], true]);
  assert.deepEqual(names(look([makePod('a')])), ['a']);
  assert.deepEqual(tales, ['evicting a']);
});

test('it is about the pods that were there at its beginning, by uid', () => {
  const { look, tales, drain } = bench();
  look([makePod('a'), makePod('b')]);
  assert.deepEqual(names(look([makePod('a', { uid: 'another' }), makePod('late'), makePod('b')])), [
    'b',
  ]);
  assert.equal(drain.hasEnded, false);
  look([makePod('late')]);
  assert.deepEqual(tales, ['evicting a', 'evicting b', 'left a', 'evicting b', 'left b', 'ended']);
});

test('one refused pod stops everything before the first eviction', () => {
  const { look, tales, drain } = bench(careful);
  const pods = [
    makePod('fine'),
    bare('bare'),
    makePod('data', { localData: true }),
    bare('both', { localData: true }),
  ];
  const agent = makePod('agent', {
    owner: { kind: 'DaemonSet', name: 'agent', uid: 'd', apiVersion: 'apps/v1' },
  });
  assert.deepEqual(names(look([...pods, agent])), []);
  assert.deepEqual(tales, [
    'ended cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): shop/agent' +
      ' | cannot delete Pods that declare no controller (use --force to override): shop/bare' +
      ' | cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/both, shop/data',
  ]);
  assert.equal(drain.hasEnded, true);
  assert.deepEqual(names(look(pods)), [], 'and nothing goes after the end');
});

test('what the flags agree to is said once', () => {
  const { look, tales } = bench();
  look([bare('bare'), makePod('data', { localData: true })]);
  look([bare('bare')]);
  assert.equal(
    tales[0],
    'warning Warning: deleting Pods that declare no controller: shop/bare; deleting Pods with local storage: shop/data',
  );
  assert.equal(tales.filter(update => update.startsWith('warning')).length, 1);
});

test('a budget is waited for, and named once however many pods it keeps', () => {
  const { look, tales, drain } = bench();
  const spent = makeBudget('web', { disruptionsAllowed: 0, currentHealthy: 3 });
  const pods = ['a', 'b', 'c'].map(name => makePod(name));
  look(pods, 1, { budgets: [spent] });
  look(pods, 5, { budgets: [spent] });
  assert.deepEqual(tales, [
    'waits shop/a, shop/b, shop/c: budget web needs 3 healthy pods and has 3',
  ]);
  assert.equal(drain.hasEnded, false);
  assert.deepEqual(drain.progress(), {
    nodeName: 'n1',
    gone: 0,
    all: 3,
    terminating: 0,
    waits: 'shop/web',
  });
});

test('a pod in two budgets is asked for once, does not hold up the others, and then ends the drain with what the server says', () => {
  const { look, tales } = bench();
  const two = [
    makeBudget('one', { selector: { matchLabels: { app: 'x' } } }),
    makeBudget('two', { selector: { matchLabels: { app: 'x' } } }),
  ];
  const stuck = makePod('stuck', { labels: { app: 'x' } });
  assert.deepEqual(names(look([stuck, makePod('fine')], 1, { budgets: two })), ['fine', 'stuck']);
  const message =
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  const refused = {
    method: 'evict' as const,
    outcome: { kind: 'multipleBudgets' as const, message },
    at: at(1),
    tries: 1,
  };
  const attempts = new Map([[stuck.uid, refused]]);
  const leaving = makePod('fine', { deletionTimestamp: at(31) });
  assert.deepEqual(names(look([stuck, leaving], 2, { budgets: two, attempts })), []);
  look([stuck], 3, { budgets: two, attempts });
  assert.deepEqual(tales, [
    'evicting fine',
    'evicting stuck',
    'waits shop/stuck: 2 budgets select the pod, and the eviction API always refuses such pods; help: change the selectors so that one budget is left for the pod',
    'left fine',
    `ended error when evicting pods/"stuck" -n "shop": ${message}`,
  ]);
});

test('a failing server is given time to come round', () => {
  const { look, drain } = bench();
  const attempts = new Map([
    [
      'uid-shop-a',
      {
        method: 'evict' as const,
        outcome: { kind: 'failed' as const, message: 'no route' },
        at: at(1),
        tries: 9,
      },
    ],
  ]);
  const first = look([makePod('a')], 2, { attempts });
  assert.ok(first.requeueAt !== undefined);
  look([makePod('a')], 20, { attempts });
  assert.equal(drain.hasEnded, false);
  look([makePod('a')], 33, { attempts });
  assert.equal(drain.hasEnded, true);
});

test('when the time is up, each pod says what it was waiting for', () => {
  const { look, tales } = bench(seedPolicy, 45);
  const leaving = makePod('leaving', { deletionTimestamp: at(50) });
  const spent = makeBudget('web', { disruptionsAllowed: 0, currentHealthy: 3 });
  const decision = look([makePod('a'), leaving], 10, { budgets: [spent] });
  assert.equal(decision.requeueAt?.epochMilliseconds, at(55).epochMilliseconds);
  look([makePod('a'), leaving], 55, { budgets: [spent] });
  assert.equal(
    tales.at(-1),
    'ended error when evicting pods/"a" -n "shop": global timeout reached: 45s' +
      ' | error when waiting for pod "leaving" in namespace "shop" to terminate: context deadline exceeded',
  );
});

test('pods that have been terminating for too long are not waited for', () => {
  const { look, tales } = bench({ ...seedPolicy, skipWaitForDeleteTimeoutSeconds: 5 });
  look([makePod('slow', { deletionTimestamp: at(30), deletionGraceSeconds: 30 })], 2);
  look([makePod('slow', { deletionTimestamp: at(30), deletionGraceSeconds: 30 })], 35.9);
  assert.deepEqual(tales, []);
  look([makePod('slow', { deletionTimestamp: at(30), deletionGraceSeconds: 30 })], 36);
  assert.deepEqual(tales, ['skipped slow', 'ended']);
});

test('a node without pods is drained at once', () => {
  const { look, tales } = bench();
  look([]);
  assert.deepEqual(tales, ['ended']);
});
