import assert from 'node:assert/strict';
import { test } from 'node:test';
import { availableDisruptions, type InFlightEviction } from '@drydock/core/drain';
import { at, makeBudget } from '@drydock/core/testing';
import fc from 'fast-check';
import { InFlightEvictions } from './in-flight-evictions.ts';

function inFlightEviction(uid: string, over: Partial<InFlightEviction> = {}): InFlightEviction {
  return {
    uid,
    podKey: `shop/${uid}`,
    podName: uid,
    nodeName: 'n1',
    budget: 'shop/web',
    state: 'accepted',
    at: at(0),
    ...over,
  };
}

function inFlightOf(...all: readonly InFlightEviction[]): InFlightEvictions {
  const inFlight = new InFlightEvictions();
  for (const one of all) inFlight.put(one);
  return inFlight;
}

function uids(inFlight: InFlightEvictions): readonly string[] {
  return ['n1', 'n2'].flatMap(name => inFlight.of(name).map(({ uid }) => uid));
}

test('flights are known by pod and by node', () => {
  const inFlight = inFlightOf(inFlightEviction('a'), inFlightEviction('b', { nodeName: 'n2' }));
  assert.equal(inFlight.get('b')?.nodeName, 'n2');
  assert.deepEqual(
    inFlight.of('n1').map(({ uid }) => uid),
    ['a'],
  );
  inFlight.put(inFlightEviction('a', { state: 'sent' }));
  assert.deepEqual(
    inFlight.of('n1').map(({ state }) => state),
    ['sent'],
  );
  inFlight.end('a');
  inFlight.end('unknown');
  assert.deepEqual([uids(inFlight), inFlight.of('n1'), inFlight.size], [['b'], [], 1]);
});

test('whoever asks about a node or a budget gets what looking at all would give, whatever has become of each', () => {
  const [pods, nodes, budgets] = [
    ['a', 'b', 'c', 'virt-launcher-d'],
    ['n1', 'n2'],
    ['web', 'api'],
  ].map(all => fc.constantFrom(...all));
  const key = fc.option(budgets?.map(name => `shop/${name}`) ?? fc.constant('shop/web'), {
    nil: undefined,
  });
  const step = fc.record({
    what: fc.constantFrom('put', 'put', 'end', 'left', 'settle'),
    pod: pods ?? fc.constant('a'),
    node: nodes ?? fc.constant('n1'),
    budget: key,
    overruled: key,
    state: fc.constantFrom('queued' as const, 'sent' as const, 'accepted' as const),
    second: fc.nat(30),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const inFlight = new InFlightEvictions();
      const seen = new Set<string>();
      for (const { what, pod, node, budget, overruled, state, second } of steps.toSorted(
        (one, other) => one.second - other.second,
      )) {
        seen.add(pod);
        const overrules = overruled === undefined ? [] : [{ budget: overruled, healthy: 3 }];
        const { budget: _asked, ...rest } = inFlightEviction(pod, {
          nodeName: node,
          state,
          at: at(second),
        });
        if (what === 'put')
          inFlight.put({
            ...rest,
            ...(budget && { budget }),
            ...(overrules.length > 0 && { overrules }),
          });
        else if (what === 'end') inFlight.end(pod);
        else if (what === 'left') inFlight.podLeft(pod, String(second));
        else
          inFlight.settle(
            makeBudget('web', { resourceVersion: String(second + 1), currentHealthy: 2 }),
            at(second),
          );
        const all = [...seen].flatMap(uid => inFlight.get(uid) ?? []);
        const web = makeBudget('web', { disruptionsAllowed: 3 });
        const near = inFlight.about('n1', [web]);
        assert.equal(inFlight.size, all.length);
        assert.equal(new Set(near.map(({ uid }) => uid)).size, near.length);
        for (const few of [near, inFlight.takingFrom(web.key)])
          assert.equal(
            availableDisruptions(web, few, at(second)),
            availableDisruptions(web, all, at(second)),
          );
        const counts = ({ nodeName, podName }: InFlightEviction): boolean =>
          nodeName === 'n1' || podName.startsWith('virt-launcher-');
        const uidsOf = (some: readonly InFlightEviction[]): readonly string[] =>
          some
            .filter(counts)
            .map(({ uid }) => uid)
            .sort();
        assert.deepEqual(uidsOf(near), uidsOf(all));
      }
    }),
  );
});

test('an accepted eviction ends when its budget has counted it: the status names the pod, or is younger than its deletion', () => {
  const inFlight = inFlightOf(
    inFlightEviction('named'),
    inFlightEviction('deleted'),
    inFlightEviction('unseen'),
  );
  inFlight.podLeft('deleted', '30');
  inFlight.settle(makeBudget('web', { resourceVersion: '30', disruptedPods: ['named'] }), at(1));
  assert.deepEqual(
    uids(inFlight),
    ['deleted', 'unseen'],
    'a status as old as the deletion has not counted it',
  );
  inFlight.settle(makeBudget('web', { resourceVersion: '31' }), at(1));
  assert.deepEqual(uids(inFlight), ['unseen']);
});

test('a deletion ends when all budgets that it does not ask have counted it', () => {
  const { budget: _asked, ...rest } = inFlightEviction('d', { deletionVersion: '30' });
  const overrules = ['shop/web', 'shop/api'].map(budget => ({ budget, healthy: 3 }));
  const inFlight = inFlightOf({ ...rest, overrules });
  inFlight.settle(makeBudget('web', { resourceVersion: '31', currentHealthy: 3 }), at(1));
  assert.equal(inFlight.get('d')?.overrules?.length, 2, 'it counts as many as before');
  inFlight.settle(makeBudget('web', { resourceVersion: '32', currentHealthy: 2 }), at(1));
  assert.deepEqual(inFlight.get('d')?.overrules, [{ budget: 'shop/api', healthy: 3 }]);
  inFlight.settle(makeBudget('api', { resourceVersion: '33', currentHealthy: 2 }), at(1));
  assert.deepEqual(uids(inFlight), []);
});

test('one that its budget never shows is given up after ten seconds', () => {
  const inFlight = inFlightOf(inFlightEviction('a'));
  inFlight.settle(makeBudget('web'), at(10));
  assert.deepEqual(uids(inFlight), ['a']);
  inFlight.settle(makeBudget('web'), at(10.1));
  assert.deepEqual(uids(inFlight), []);
});

test('queued and sent ones, and those of other budgets, are not settled', () => {
  const inFlight = inFlightOf(
    inFlightEviction('q', { state: 'queued' }),
    inFlightEviction('s', { state: 'sent' }),
    inFlightEviction('o', { budget: 'shop/other' }),
  );
  inFlight.settle(makeBudget('web', { disruptedPods: ['q', 's', 'o'] }), at(9));
  assert.deepEqual(uids(inFlight), ['q', 's', 'o']);
});

test('a pod that leaves is noted once, the first deletion counts', () => {
  const inFlight = inFlightOf(inFlightEviction('a', { state: 'sent' }));
  inFlight.podLeft('a', '7');
  inFlight.podLeft('a', '9');
  inFlight.podLeft('nobody', '9');
  assert.equal(inFlight.get('a')?.deletionVersion, '7');
  assert.deepEqual(uids(inFlight), ['a']);
});

test('without a budget an accepted eviction is over when its pod leaves', () => {
  const { budget: _budget, ...free } = inFlightEviction('a');
  const inFlight = inFlightOf(free);
  inFlight.podLeft('a', '7');
  assert.deepEqual(uids(inFlight), []);
});

test('one that its own budget never shows is given up when any budget is looked at', () => {
  const inFlight = inFlightOf(inFlightEviction('a', { budget: 'shop/other' }));
  inFlight.settle(makeBudget('web'), at(10));
  assert.deepEqual(uids(inFlight), ['a']);
  inFlight.settle(makeBudget('web'), at(10.1));
  assert.deepEqual(uids(inFlight), []);
});

test('what has been counted in full is named no more', () => {
  const overrules = [{ budget: 'shop/web', healthy: 3 }];
  const inFlight = inFlightOf(
    inFlightEviction('a', { budget: 'shop/other', deletionVersion: '30', overrules }),
  );
  inFlight.settle(makeBudget('web', { resourceVersion: '31', currentHealthy: 2 }), at(1));
  assert.deepEqual(
    inFlight.get('a'),
    inFlightEviction('a', { budget: 'shop/other', deletionVersion: '30' }),
  );
});
