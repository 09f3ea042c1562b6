import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyRecord, writeHoldRecord } from '@drydock/core/hold';
import type { Node } from '@drydock/core/node';
import { makeNode } from '@drydock/core/testing';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import type { Listener } from '../cache/cache.ts';
import { NodeCache } from '../cache/node-cache.ts';
import { NodeSilencer } from './node-states.ts';

function setting() {
  const clock = new VirtualClock();
  const nodes = new NodeCache();
  const listeners = new Set<Listener>();
  const told: string[] = [];
  const state = { unsynced: ['nodes'] as readonly string[], acts: true };
  const cache = {
    nodes,
    get unsynced() {
      return state.unsynced;
    },
    subscribe: (listener: Listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const silencer = {
    silence: async (held: ReadonlySet<string>) => {
      told.push([...held].sort().join());
      return 60_000;
    },
  };
  const see = (name: string, isHeld: boolean): void => {
    const { holdRecord: _record, ...free } = makeNode({
      key: name,
      name,
      uid: name,
      resourceVersion: `${told.length}${name}${isHeld}`,
    });
    const node: Node = isHeld
      ? { ...free, holdRecord: writeHoldRecord({ ...emptyRecord, unschedulable: false }) }
      : free;
    nodes.observe(node);
    for (const { node: tell } of listeners) tell?.(node);
  };
  const stop = new AbortController();
  const running = new NodeSilencer({
    cache,
    silencer,
    fence: { mayAct: () => state.acts },
    clock,
    defects: new PanicHandler({ log: silentLog }),
  }).run(stop.signal);
  return {
    clock,
    told,
    state,
    see,
    listeners,
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

test('held nodes are told when all are known, when one is held or released, and once a minute', async () => {
  const { clock, told, state, see, listeners, end } = setting();
  await clock.advance(10_000);
  assert.deepEqual(
    told,
    [],
    'as long as not all nodes are known, those that are held are not either',
  );
  see('n1', true);
  state.unsynced = [];
  await clock.advance(3000);
  assert.deepEqual(told, ['n1']);
  see('n2', false);
  await clock.advance(5000);
  assert.equal(told.length, 1, 'a node that is free says nothing');
  see('n2', true);
  see('n3', true);
  await clock.advance(2000);
  assert.deepEqual(told.slice(1), ['n1,n2,n3']);
  see('n1', false);
  await clock.advance(2000);
  assert.equal(told.at(-1), 'n2,n3');
  const before = told.length;
  await clock.advance(62_000);
  assert.equal(told.length, before + 1);
  state.acts = false;
  await clock.advance(300_000);
  assert.ok(told.length <= before + 2, 'who does not lead says nothing');
  await end();
  assert.equal(listeners.size, 0);
});
