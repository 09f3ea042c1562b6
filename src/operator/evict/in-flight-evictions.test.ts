import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Flight } from '../../core/drain/in-flight-eviction.ts';
import { at, makeBudget } from '../../core/testing/make.ts';
import { Flights } from './in-flight-evictions.ts';

const flight = (uid: string, over: Partial<Flight> = {}): Flight => ({
  uid,
  podKey: `shop/${uid}`,
  podName: uid,
  nodeName: 'n1',
  budget: 'shop/web',
  state: 'accepted',
  at: at(0),
  ...over,
});

const flightsOf = (...all: readonly Flight[]): Flights => {
  const flights = new Flights();
  for (const one of all) flights.put(one);
  return flights;
};

const uids = (flights: Flights): readonly string[] => flights.all().map(({ uid }) => uid);

test('flights are known by pod, by node and all together', () => {
  const flights = flightsOf(flight('a'), flight('b', { nodeName: 'n2' }));
  assert.equal(flights.get('b')?.nodeName, 'n2');
  assert.deepEqual(
    flights.of('n1').map(({ uid }) => uid),
    ['a'],
  );
  flights.end('a');
  assert.deepEqual(uids(flights), ['b']);
});

test('an accepted eviction ends when its budget has counted it: the status names the pod, or is younger than its deletion', () => {
  const flights = flightsOf(flight('named'), flight('deleted'), flight('unseen'));
  flights.podLeft('deleted', '30');
  flights.settle(makeBudget('web', { resourceVersion: '30', disruptedPods: ['named'] }), at(1));
  assert.deepEqual(uids(flights), ['deleted', 'unseen'], 'a status as old as the deletion has not counted it');
  flights.settle(makeBudget('web', { resourceVersion: '31' }), at(1));
  assert.deepEqual(uids(flights), ['unseen']);
});

test('a deletion ends when all budgets that it does not ask have counted it', () => {
  const { budget: _asked, ...rest } = flight('d', { deletionVersion: '30' });
  const overrules = ['shop/web', 'shop/api'].map(budget => ({ budget, healthy: 3 }));
  const flights = flightsOf({ ...rest, overrules });
  flights.settle(makeBudget('web', { resourceVersion: '31', currentHealthy: 3 }), at(1));
  assert.equal(flights.get('d')?.overrules?.length, 2, 'it counts as many as before');
  flights.settle(makeBudget('web', { resourceVersion: '32', currentHealthy: 2 }), at(1));
  assert.deepEqual(flights.get('d')?.overrules, [{ budget: 'shop/api', healthy: 3 }]);
  flights.settle(makeBudget('api', { resourceVersion: '33', currentHealthy: 2 }), at(1));
  assert.deepEqual(uids(flights), []);
});

test('one that its budget never shows is given up after ten seconds', () => {
  const flights = flightsOf(flight('a'));
  flights.settle(makeBudget('web'), at(10));
  assert.deepEqual(uids(flights), ['a']);
  flights.settle(makeBudget('web'), at(10.1));
  assert.deepEqual(uids(flights), []);
});

test('queued and sent ones, and those of other budgets, are not settled', () => {
  const flights = flightsOf(flight('q', { state: 'queued' }), flight('s', { state: 'sent' }), flight('o', { budget: 'shop/other' }));
  flights.settle(makeBudget('web', { disruptedPods: ['q', 's', 'o'] }), at(9));
  assert.deepEqual(uids(flights), ['q', 's', 'o']);
});

test('a pod that leaves is noted once, the first deletion counts', () => {
  const flights = flightsOf(flight('a', { state: 'sent' }));
  flights.podLeft('a', '7');
  flights.podLeft('a', '9');
  flights.podLeft('nobody', '9');
  assert.equal(flights.get('a')?.deletionVersion, '7');
  assert.deepEqual(uids(flights), ['a']);
});

test('without a budget an accepted eviction is over when its pod leaves', () => {
  const { budget: _budget, ...free } = flight('a');
  const flights = flightsOf(free);
  flights.podLeft('a', '7');
  assert.deepEqual(uids(flights), []);
});

test('one that its own budget never shows is given up when any budget is looked at', () => {
  const flights = flightsOf(flight('a', { budget: 'shop/other' }));
  flights.settle(makeBudget('web'), at(10));
  assert.deepEqual(uids(flights), ['a']);
  flights.settle(makeBudget('web'), at(10.1));
  assert.deepEqual(uids(flights), []);
});

test('what has been counted in full is named no more', () => {
  const overrules = [{ budget: 'shop/web', healthy: 3 }];
  const flights = flightsOf(flight('a', { budget: 'shop/other', deletionVersion: '30', overrules }));
  flights.settle(makeBudget('web', { resourceVersion: '31', currentHealthy: 2 }), at(1));
  assert.deepEqual(flights.get('a'), flight('a', { budget: 'shop/other', deletionVersion: '30' }));
});
