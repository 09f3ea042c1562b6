import type { JsonObject } from '@drydock/apimachinery';
import {
  hookStates,
  nodeStates,
  planPhases,
  preparingStates,
  rehearsalStates,
  verdictTypes,
  workKinds,
} from '@drydock/core/plan';
import { uidOf } from '@drydock/operator/testing';
import { type Chance, type Draw, many, maybe, pick } from './odd-values.ts';

/** What plans and their records say of what was done, with the ends of every type in it. */

export const nodeNames: readonly string[] = ['n0', 'n1', 'n2', 'n3'];
export const stageNames: readonly string[] = ['canary', 'rest', 'control-plane'];

function nodeUid(chance: Chance, { word }: Draw, node: string): string {
  return pick(chance, [uidOf(`/api/v1/nodes/${node}`), word()]);
}

function task(chance: Chance, draw: Draw): JsonObject {
  return {
    startTime: draw.time(),
    attempt: draw.int(),
    pod: draw.word(),
    podUID: maybe(chance, draw.word),
    message: draw.word(),
  };
}

function outcome(chance: Chance, { word }: Draw): JsonObject {
  return {
    verdict: pick(chance, verdictTypes),
    state: pick(chance, nodeStates),
    message: word(),
    held: chance() < 0.5,
  };
}

function slot(chance: Chance, draw: Draw): JsonObject {
  const { time, word } = draw;
  const node = pick(chance, nodeNames);
  return {
    node,
    nodeUID: nodeUid(chance, draw, node),
    stage: pick(chance, [...stageNames, word()]),
    revision: word(),
    work: {
      kind: pick(chance, workKinds),
      rebootsNode: chance() < 0.5,
      timeoutSeconds: draw.int(),
    },
    domains: maybe(chance, () => ({ [word()]: word() })),
    state: pick(chance, nodeStates),
    startTime: time(),
    stateStartTime: time(),
    attempt: draw.int(),
    bootIDBefore: maybe(chance, word),
    podUID: maybe(chance, word),
    workStartTime: maybe(chance, time),
    rebootStartTime: maybe(chance, time),
    workCompletionTime: maybe(chance, time),
    soakStartTime: maybe(chance, time),
    rebooted: maybe(chance, () => true),
    outcome: maybe(chance, () => outcome(chance, draw)),
  };
}

function forecast(chance: Chance, { int, time, word }: Draw): JsonObject {
  return {
    rehearsalTime: time(),
    snapshotTime: time(),
    runID: word(),
    specHash: word(),
    finishes: chance() < 0.5,
    estimatedCompletionTime: maybe(chance, time),
    latestCompletionTime: maybe(chance, time),
    firstEstimatedCompletionTime: maybe(chance, time),
    driftSeconds: int(),
    nodes: int(),
    windows: int(),
    podsMoved: int(),
    podsMovedAgain: int(),
    blocked: many(chance, 2, () => ({ node: word(), message: word() })),
    blockedNodes: int(),
    lowest: many(chance, 2, () => ({ workload: word(), ready: int(), replicas: int() })),
    firstNodes: many(chance, 2, word),
  };
}

/** The status of a plan, as somebody else would write it. */
export function planStatus(chance: Chance, draw: Draw): JsonObject {
  const { int, time, word } = draw;
  return {
    phase: pick(chance, planPhases),
    message: word(),
    run: {
      id: pick(chance, ['1', '2', word()]),
      revision: word(),
      startTime: time(),
      begun: maybe(chance, () => ({ canary: time() })),
    },
    nodes: {
      selected: int(),
      due: int(),
      blocked: int(),
      inFlight: int(),
      done: int(),
      failed: int(),
      skipped: int(),
      progress: word(),
    },
    stages: many(chance, 2, () => ({
      name: pick(chance, stageNames),
      selected: int(),
      done: int(),
      phase: word(),
    })),
    inFlight: maybe(chance, () => many(chance, 3, () => slot(chance, draw))),
    preparing: maybe(chance, () =>
      many(chance, 2, () => ({
        ...task(chance, draw),
        node: pick(chance, nodeNames),
        nodeUID: word(),
        state: pick(chance, preparingStates),
      })),
    ),
    waiting: many(chance, 2, () => ({
      reason: word(),
      message: word(),
      startTime: time(),
      until: maybe(chance, time),
    })),
    hooks: maybe(chance, () =>
      many(chance, 2, () => ({
        ...task(chance, draw),
        name: word(),
        scope: word(),
        state: pick(chance, hookStates),
      })),
    ),
    gates: many(chance, 2, () => ({
      name: word(),
      value: pick(chance, ['True', 'False', 'Unknown']),
      startTime: time(),
      message: word(),
    })),
    haltedBy: chance() < 0.1 ? { gate: word(), message: word(), time: time() } : undefined,
    passedOver: many(chance, 2, () => ({
      node: pick(chance, nodeNames),
      nodeUID: word(),
      startTime: time(),
    })),
    failures: many(chance, 2, () => ({
      node: word(),
      stage: word(),
      state: pick(chance, nodeStates),
      message: word(),
      time: time(),
      held: true,
    })),
    rehearsal:
      chance() < 0.2
        ? {
            ...task(chance, draw),
            state: pick(chance, rehearsalStates),
            runID: word(),
            specHash: word(),
          }
        : undefined,
    forecast: maybe(chance, () => forecast(chance, draw)),
    estimatedCompletionTime: maybe(chance, time),
    completionTime: maybe(chance, time),
    conditions: many(chance, 2, () => draw.condition('Predicted', 'Progressing')),
  };
}

/** What a record has of a node. */
export function verdict(chance: Chance, draw: Draw, node: string): JsonObject {
  return {
    ...outcome(chance, draw),
    nodeUID: nodeUid(chance, draw, node),
    stage: pick(chance, stageNames),
    startTime: draw.time(),
    completionTime: draw.time(),
    attempts: draw.int(),
    rebooted: chance() < 0.5,
    requeues: draw.int(),
    workSeconds: maybe(chance, draw.int),
    rebootSeconds: maybe(chance, draw.int),
  };
}
