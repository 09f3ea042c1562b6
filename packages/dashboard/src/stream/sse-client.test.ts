import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import type { Delta, Scene } from '../scene.ts';
import { DeltaLog, SseClient, type StreamSource } from './sse.ts';

const scene: Scene = {
  facts: { access: 'read-only', cluster: 'test', loading: [], unreadable: [] },
  nodes: [],
  pods: [],
  counts: [],
  lows: [],
  budgets: [],
  machines: [],
  windows: [],
  plans: [],
  moments: [],
};

/** One end of a connection whose other end takes what it is told to take. */
class Line {
  readonly told: string[] = [];
  busy = false;
  destroyed = false;
  readonly #listeners = { drain: [] as (() => void)[], close: [] as (() => void)[] };

  write(text: string): boolean {
    this.told.push(text);
    return !this.busy;
  }

  on(event: 'drain' | 'close', listener: () => void): void {
    this.#listeners[event].push(listener);
  }

  emit(event: 'drain' | 'close'): void {
    for (const listener of this.#listeners[event]) listener();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  /** `scene 3`, `delta 4`, `beat`. */
  get heard(): readonly string[] {
    return this.told.map(text =>
      text.startsWith(':')
        ? 'beat'
        : `${/^event: (\w+)/.exec(text)?.[1]} ${/id: run\.(\d+)/.exec(text)?.[1]}`,
    );
  }
}

function source() {
  const deltaLog = new DeltaLog();
  let revision = 0;
  const tell = (delta: Delta = { gone: { nodes: [`n${revision}`] } }): void => {
    revision += 1;
    deltaLog.add(revision, delta);
  };
  const all: StreamSource = { deltaLog, run: 'run', snapshot: () => ({ revision, scene }) };
  const turn = (): void => {
    revision += 1;
    deltaLog.add(revision, undefined);
  };
  return { tell, turn, source: all };
}

test('a reader gets the scene, and then every delta once', () => {
  const { tell, source: all } = source();
  const line = new Line();
  tell();
  const client = new SseClient(line, all, new VirtualClock(), undefined);
  client.pump();
  tell();
  client.pump();
  client.pump();
  assert.deepEqual(line.heard, ['scene 1', 'delta 2']);
  assert.equal(line.told[1], 'event: delta\nid: run.2\ndata: {"gone":{"nodes":["n1"]}}\n\n');
});

test('when the scene is told anew, everybody gets it, and the deltas that follow', () => {
  const { tell, turn, source: all } = source();
  const line = new Line();
  tell();
  const client = new SseClient(line, all, new VirtualClock(), undefined);
  turn();
  client.pump();
  tell();
  client.pump();
  assert.deepEqual(line.heard, ['scene 1', 'scene 2', 'delta 3']);
});

test('one that comes back gets what it has missed, and the scene when nobody knows that any more', () => {
  const { tell, source: all } = source();
  for (let count = 0; count < 3; count += 1) tell();
  const heard = (id: string): readonly string[] => {
    const line = new Line();
    new SseClient(line, all, new VirtualClock(), id).pump();
    return line.heard;
  };
  assert.deepEqual(heard('run.1'), ['delta 2', 'delta 3']);
  assert.deepEqual(heard('run.3'), []);
  for (const id of ['run.4', 'other.1', 'run', 'run.x', 'run.-1', ''])
    assert.deepEqual(heard(id), ['scene 3'], id);
  for (let count = 0; count < 600; count += 1) tell();
  assert.deepEqual(heard('run.1'), ['scene 603'], 'the journal is bounded');
});

test('a slow reader is told nothing more until it has taken what it was told', () => {
  const { tell, source: all } = source();
  const line = new Line();
  line.busy = true;
  const client = new SseClient(line, all, new VirtualClock(), undefined);
  for (let count = 0; count < 1000; count += 1) {
    tell();
    client.pump();
    client.beat();
  }
  assert.deepEqual(line.heard, ['scene 0'], 'one message is all that it costs');
  line.busy = false;
  line.emit('drain');
  assert.deepEqual(line.heard, ['scene 0', 'scene 1000'], 'what it missed comes as a scene');
  line.busy = true;
  tell();
  client.pump();
  tell();
  client.pump();
  line.busy = false;
  line.emit('drain');
  assert.deepEqual(line.heard.slice(2), ['delta 1001', 'delta 1002'], 'a short lag costs no scene');
});

test('one that takes nothing for half a minute is cut off; one that does is not', async () => {
  const clock = new VirtualClock();
  const { tell, source: all } = source();
  const [gone, slow] = [new Line(), new Line()];
  gone.busy = true;
  slow.busy = true;
  for (const line of [gone, slow]) new SseClient(line, all, clock, undefined).pump();
  await clock.advance(29_000);
  tell();
  slow.emit('drain');
  await clock.advance(29_000);
  assert.deepEqual([gone.destroyed, slow.destroyed], [true, false]);
  assert.deepEqual(slow.heard, ['scene 0', 'delta 1']);
});

test('a large change is not kept: a scene says the same', () => {
  const { tell, source: all } = source();
  tell({ gone: { pods: ['x'.repeat(5_000_000)] } });
  assert.equal(all.deltaLog.after(0), 'forgotten');
  assert.equal(all.deltaLog.after(1), 'nothing');
  tell();
  assert.notEqual(all.deltaLog.after(1), 'forgotten');
});
