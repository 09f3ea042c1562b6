import type { JsonObject } from '../../core/json.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { text } from '../../embedded/object.ts';
import type { Machine } from '../../embedded/registry/context.ts';
import type { Workloads } from '../snapshot/workloads.ts';
import { type Leave, type Level, PodRecord } from './record.ts';
import { type Props, type Stage, setStage } from './sandbox.ts';
import { type Lack, lacksIn, unreadyIn } from './unschedulable-pod.ts';
import { type Course, WaitRecord } from './waits.ts';

/** A maintenance that is to be rehearsed. */
export type Wish = { readonly node: string; readonly name: string; readonly object: JsonObject };

/** What is rehearsed: all at once and held, or so many at a time, each given back as soon as it is drained. */
export type Order = { readonly wishes: readonly Wish[]; readonly parallel?: number; readonly horizonMs: number };

type Outcome = 'drained' | 'failed' | 'stuck' | 'not reached';

export type NodeRun = { readonly outcome: Outcome; readonly course: Course };

/** One run, of one seed. Times in milliseconds since the maintenances were asked for. */
export type Run = {
  readonly seed: number;
  readonly nodes: readonly NodeRun[];
  readonly leaves: readonly Leave[];
  readonly levels: readonly Level[];
  /** Pods without a node at the end. */
  readonly lacks: readonly Lack[];
  /** Of budgets that something still waits for: pods that they count and that run without being ready. */
  readonly unready: Readonly<Record<string, readonly string[]>>;
  /** Pods that were made, deleted or moved before anybody asked for anything. */
  readonly stir: number;
  readonly madeUpMs: number;
};

export type Progress = { readonly drained: number; readonly of: number; readonly gone: number; readonly madeUpMs: number };

/** The wish is refused by the API, in its words. */
export class WishError extends Error {
  override readonly name = 'WishError';
}

/** How long the copy is left alone before anything is asked for: whatever stirs then was not at rest. */
const settleMs = 2000;

/** When nothing has happened to the pods of a node for so long, nothing will: longer than any pause of the operator, and any start or stop. */
const quietMs = 35 * 60_000;

/** As long as things happen the clock is turned by a second; later by more. */
const stepMs = 1000;
const idleStepMs = 30_000;

/** At the end the operator has so long to let go of what it has begun. */
const endMs = 5000;

type Play = {
  readonly stage: Stage;
  readonly order: Order;
  readonly pods: PodRecord;
  readonly ahead: Wish[];
  /** By node. */
  readonly active: Map<string, number>;
  readonly over: Map<string, Outcome>;
  readonly courses: Map<string, Course>;
};

const resourceOf = (machine: Machine, { object }: Wish): string => {
  const [name, apiVersion] = [text(object, 'kind'), text(object, 'apiVersion')];
  const kind = machine.kinds.named(apiVersion.split('/')[0] ?? '', name);
  if (kind === undefined) throw new WishError(`${name} of ${apiVersion} is no maintenance`);
  return kind.resource;
};

const begin = (play: Play, wish: Wish): void => {
  const { machine } = play.stage.cluster;
  const resource = resourceOf(machine, wish);
  play.active.set(wish.node, play.pods.nowMs);
  if (machine.store.get(resource, '', wish.name) !== undefined) return;
  const written = writesOn(machine).create(resource, wish.object);
  if (written.kind === 'refused') throw new WishError(written.message);
};

const beginNext = (play: Play): void => {
  const most = play.order.parallel ?? Number.POSITIVE_INFINITY;
  while (play.active.size < most) {
    const next = play.ahead.shift();
    if (next === undefined) return;
    begin(play, next);
  }
};

const giveBack = (play: Play, course: Course, resource: string): void => {
  writesOn(play.stage.cluster.machine).remove(resource, '', course.name);
};

/** What the operator has written of a maintenance moves the order on. */
const told = (play: Play, course: Course, resource: string, gone: boolean): void => {
  const { node } = course;
  if (!play.active.has(node)) return;
  play.courses.set(node, course);
  const isTurn = play.order.parallel !== undefined;
  if (gone && isTurn) {
    play.active.delete(node);
    beginNext(play);
    return;
  }
  const end = course.drainedMs !== undefined ? 'drained' : course.failedMs !== undefined ? 'failed' : undefined;
  if (end === undefined || play.over.has(node)) return;
  play.over.set(node, end);
  if (isTurn) giveBack(play, course, resource);
};

/** It waits for a time that is told, and that will come. */
const isDue = ({ order, pods }: Play, course: Course | undefined): boolean =>
  course?.startsAtMs !== undefined && course.startsAtMs > pods.nowMs - quietMs && course.startsAtMs < order.horizonMs;

/** Nodes to which nothing has happened for so long that nothing will; of an order in turns they are given back, and the next ones begin. */
const giveUp = (play: Play): void => {
  const { pods, active, over, courses, order } = play;
  for (const [node, sinceMs] of active) {
    const course = courses.get(node);
    const lastMs = Math.max(sinceMs, pods.changedMs.get(node) ?? 0, course?.beganMs ?? 0);
    if (over.has(node) || pods.nowMs - lastMs < quietMs || isDue(play, course)) continue;
    over.set(node, 'stuck');
    if (order.parallel === undefined || course === undefined) continue;
    const wish = order.wishes.find(one => one.node === node);
    if (wish !== undefined) giveBack(play, course, resourceOf(play.stage.cluster.machine, wish));
  }
};

const untilOver = async (play: Play, waits: WaitRecord, tell: (progress: Progress) => void): Promise<void> => {
  const { stage, order, pods, over } = play;
  let seen = -1;
  let idle = 0;
  while (over.size < order.wishes.length && pods.nowMs < order.horizonMs) {
    await stage.clock.advance(idle < 30 ? stepMs : idleStepMs);
    waits.look();
    const gone = pods.departures;
    idle = gone === seen ? idle + 1 : 0;
    seen = gone;
    giveUp(play);
    tell({ drained: over.size, of: order.wishes.length, gone, madeUpMs: pods.nowMs });
  }
};

const nodeRun = (play: Play, { node, name }: Wish): NodeRun => {
  const course = play.courses.get(node) ?? { node, name, state: 'Pending', message: '', waits: new Map() };
  return { outcome: play.over.get(node) ?? (play.active.has(node) ? 'stuck' : 'not reached'), course };
};

const unreadyOf = ({ stage, courses }: Play): Run['unready'] => {
  const open = [...courses.values()].flatMap(({ waits }) => [...waits.values()].filter(({ toMs }) => toMs === undefined));
  const budgets = new Set(open.flatMap(({ budgets = [] }) => budgets));
  return Object.fromEntries([...budgets].map(key => [key, unreadyIn(stage.cluster.machine.store, key)]));
};

/** Counts what happens to pods before anybody asks for anything. */
const settle = async ({ cluster, clock }: Stage): Promise<number> => {
  let stir = 0;
  const unsubscribe = cluster.machine.store.subscribe(({ type }) => {
    if (type !== 'changed') stir += 1;
  }, 'pods');
  await clock.advance(settleMs);
  unsubscribe();
  return stir;
};

const perform = async (
  props: Props,
  stage: Stage,
  order: Order,
  workloads: Workloads,
  tell: (progress: Progress) => void,
): Promise<Play> => {
  const { machine } = stage.cluster;
  const targets = new Set(order.wishes.map(({ node }) => node));
  const pods = new PodRecord(machine.store, workloads, stage.clock, node => targets.has(node));
  const play: Play = { stage, order, pods, ahead: [...order.wishes], active: new Map(), over: new Map(), courses: new Map() };
  const waits = new WaitRecord(machine, props.adapters, (course, resource, gone) => told(play, course, resource, gone));
  beginNext(play);
  for (const course of waits.courses.values()) told(play, course, '', false);
  await untilOver(play, waits, tell);
  waits.end();
  pods.end();
  return play;
};

/** Plays the order once, in made-up time. Throws a WishError when the API refuses a maintenance. */
export const play = async (props: Props, order: Order, { seed, workloads, tell, unloaded }: RunOptions): Promise<Run> => {
  const stage = setStage(props, seed, unloaded);
  const stop = new AbortController();
  const running = props.operate({ ports: stage.ports, clock: stage.clock }, stop.signal);
  try {
    const stir = await settle(stage);
    const played = await perform(props, stage, order, workloads, tell);
    const { pods } = played;
    return {
      seed,
      nodes: order.wishes.map(wish => nodeRun(played, wish)),
      leaves: pods.leaves,
      levels: pods.levels(),
      lacks: lacksIn(stage.cluster.machine.store, workloads),
      unready: unreadyOf(played),
      stir,
      madeUpMs: pods.nowMs,
    };
  } finally {
    stop.abort();
    await stage.clock.advance(endMs);
    await running;
    stage.end();
  }
};

type RunOptions = {
  readonly seed: number;
  readonly workloads: Workloads;
  readonly tell: (progress: Progress) => void;
  /** Told of objects that could not be taken over. */
  readonly unloaded: (what: string) => void;
};
