import type { Json, JsonObject } from '@drydock/apimachinery';
import { hookPlaces, planAnnotation } from '@drydock/core/plan';
import { uidOf } from '@drydock/operator/testing';
import { drain, type Maker, metadata } from './odd-parts.ts';
import { nodeNames, planStatus, stageNames, verdict } from './odd-plan-status.ts';
import { type Chance, type Draw, label, many, maybe, pick } from './odd-values.ts';

/** Odd plans, and the objects beside them. */

const group = '/apis/drydock.dev/v1alpha1';

const expressions: readonly string[] = [
  'true',
  'false',
  "node.status.nodeInfo.kernelVersion != '6.12.9'",
  "node.metadata.annotations['app'] == ''",
  'now - timestamp(node.metadata.creationTimestamp) > duration("1h")',
  'node.spec.taints.all(a, node.spec.taints.all(b, node.spec.taints.all(c, a == b || b == c)))',
  '1 / 0',
  'node.',
];

function amount(chance: Chance, { int }: Draw): Json {
  return pick<Json>(chance, [int(), 0, 1, 1, 2, '50%', '100%', '', 'x%']);
}

function pod(chance: Chance, { int, word }: Draw): JsonObject {
  return {
    podSpec: {
      containers: [{ name: 'work', image: word(), env: maybe(chance, () => [{ name: word() }]) }],
      nodeName: word(),
    },
    timeoutSeconds: maybe(chance, int),
  };
}

function due(chance: Chance, { int }: Draw): JsonObject {
  return {
    expression: maybe(chance, () => pick(chance, expressions)),
    olderThanSeconds: maybe(chance, int),
  };
}

function work(chance: Chance, draw: Draw): JsonObject {
  return pick<() => JsonObject>(chance, [
    () => ({ none: {} }),
    () => ({ job: { ...pod(chance, draw), rebootsNode: chance() < 0.5, attempts: draw.int() } }),
    () => ({ reboot: { image: draw.word(), timeoutSeconds: draw.int() } }),
    () => ({
      replace: {
        strategy: pick(chance, ['Replace', 'ReplaceWithSurge']),
        timeoutSeconds: draw.int(),
      },
    }),
    () => ({
      external: {
        annotations: draw.map(),
        finished: { expression: pick(chance, expressions) },
        timeoutSeconds: draw.int(),
      },
    }),
  ])();
}

function gate(chance: Chance, { int, word }: Draw): JsonObject {
  return {
    name: word(),
    at: maybe(chance, () => ['BeforeNode', 'Soak']),
    onFalse: pick(chance, ['Wait', 'Halt']),
    forSeconds: int(),
    ...pick<JsonObject>(chance, [
      { workloads: {} },
      { workloads: { namespaces: ['shop', word()] } },
      {
        object: {
          apiVersion: 'v1',
          resource: 'nodes',
          name: pick(chance, nodeNames),
          expression: pick(chance, expressions),
        },
      },
      { promql: { source: word(), query: word(), expression: 'value > 0.0', minSamples: int() } },
      { alerts: { source: word(), matchers: [word()], excludeHeldNodes: true } },
    ]),
  };
}

function concurrency(chance: Chance, draw: Draw): JsonObject {
  return {
    maxInFlight: maybe(chance, () => amount(chance, draw)),
    maxUnavailable: maybe(chance, () => amount(chance, draw)),
    maxUnavailableAbsolute: maybe(chance, draw.int),
    perTopology: maybe(chance, () =>
      many(chance, 2, () => ({
        key: pick(chance, label),
        maxUnavailable: draw.int(),
        maxDomains: maybe(chance, draw.int),
      })),
    ),
    foreignCordon: pick(chance, ['Wait', 'TakeFirst', 'Skip']),
    startsPerWindow: maybe(chance, draw.int),
    ramp: maybe(chance, () => ({ start: draw.int(), factor: draw.int() })),
  };
}

function stage(chance: Chance, draw: Draw): JsonObject {
  return {
    name: pick(chance, [...stageNames, draw.word()]),
    nodeSelector: maybe(chance, draw.selector),
    limit: maybe(chance, draw.int),
    maxInFlight: maybe(chance, () => amount(chance, draw)),
    soakSeconds: draw.int(),
    approveAfter: chance() < 0.3,
  };
}

function hook(chance: Chance, draw: Draw): JsonObject {
  return {
    name: draw.word(),
    at: pick(chance, hookPlaces),
    job: pod(chance, draw),
    onFailure: pick(chance, ['Pause', 'Continue']),
  };
}

function order(chance: Chance, { int, word }: Draw): JsonObject {
  return {
    by: maybe(chance, () => many(chance, 3, () => pick(chance, ['Zone', 'Age', 'Cost', 'Name']))),
    expression: maybe(chance, () => pick(chance, [...expressions, 'size(node.metadata.name)'])),
    starvedAfterSeconds: maybe(chance, int),
    first: maybe(chance, () => many(chance, 3, word)),
  };
}

/** What says how the plan goes on, beside its nodes and its work. */
function course(chance: Chance, draw: Draw): JsonObject {
  return {
    pace: maybe(chance, () => ({
      deadline: draw.time(),
      mode: pick(chance, ['AsSoonAsPossible', 'Spread']),
    })),
    windows: pick(chance, ['Respect', 'Ignore']),
    expectedSeconds: maybe(chance, draw.int),
    soakSeconds: maybe(chance, draw.int),
    soakAfterReleaseSeconds: maybe(chance, draw.int),
    approval: maybe(chance, () => ({
      run: pick(chance, ['NotRequired', 'Required']),
      expiresAfterSeconds: draw.int(),
    })),
    onFailure: maybe(chance, () => ({
      node: pick(chance, ['Hold', 'Release']),
      drainStuck: maybe(chance, () => ({ afterSeconds: draw.int(), times: draw.int() })),
    })),
    halt: maybe(chance, () => ({
      maxFailures: amount(chance, draw),
      consecutive: draw.int(),
      inFirstStage: draw.int(),
    })),
    rehearse:
      chance() < 0.2
        ? {
            before: pick(chance, ['Required', 'NotRequired']),
            everySeconds: draw.int(),
            image: draw.word(),
          }
        : undefined,
    onDelete: maybe(chance, () => pick(chance, ['FinishNodes', 'Release', draw.word()])),
    state: pick(chance, ['Running', 'Running', 'Paused', 'Aborted', draw.word()]),
    pause:
      chance() < 0.1
        ? { reason: maybe(chance, draw.word), until: maybe(chance, draw.time) }
        : undefined,
    runID: pick(chance, ['1', '2', draw.word()]),
    skipNodes: maybe(chance, () =>
      many(chance, 2, () => ({ name: pick(chance, nodeNames), reason: draw.word() })),
    ),
    retries: maybe(chance, () =>
      many(chance, 2, () => ({ name: pick(chance, ['*', ...nodeNames]), before: draw.time() })),
    ),
  };
}

function planSpec(chance: Chance, draw: Draw): JsonObject {
  return {
    nodeSelector: chance() < 0.6 ? {} : draw.selector(),
    membership: pick(chance, ['Follow', 'Snapshot']),
    due: maybe(chance, () => due(chance, draw)),
    done: maybe(chance, () => ({
      expression: maybe(chance, () => pick(chance, expressions)),
      rebooted: maybe(chance, () => pick(chance, ['Required', 'Optional'])),
      withinSeconds: draw.int(),
    })),
    concurrency: maybe(chance, () => concurrency(chance, draw)),
    order: maybe(chance, () => order(chance, draw)),
    stages: maybe(chance, () => many(chance, 3, () => stage(chance, draw))),
    controlPlane: pick(chance, ['First', 'Last', 'Never', 'AsSelected']),
    template: maybe(chance, () => ({
      maintenance: { reason: draw.word(), drain: drain(chance, draw) },
    })),
    prepare: chance() < 0.3 ? { job: pod(chance, draw), refusalCode: draw.int() } : undefined,
    work: work(chance, draw),
    rollback: maybe(chance, () => ({
      due: maybe(chance, () => due(chance, draw)),
      work: work(chance, draw),
    })),
    direction: pick(chance, ['Forward', 'Forward', 'Rollback', draw.word()]),
    hooks: maybe(chance, () => many(chance, 2, () => hook(chance, draw))),
    gates: maybe(chance, () => many(chance, 2, () => gate(chance, draw))),
    ...course(chance, draw),
  };
}

/** Makers of plans, their approvals and records, and the pods of their work. */
export const ofPlans: readonly Maker[] = [
  (chance, draw, index) => {
    const name = `plan-${index % 2}`;
    const status = chance() < 0.5 ? planStatus(chance, draw) : undefined;
    return [
      `${group}/maintenanceplans/${name}`,
      { metadata: metadata(chance, draw, name), spec: planSpec(chance, draw), status },
    ];
  },
  (chance, draw, index) => [
    `${group}/maintenanceapprovals/a${index % 4}`,
    {
      metadata: metadata(chance, draw, `a${index % 4}`),
      spec: {
        planName: pick(chance, ['plan-0', 'plan-1', draw.word()]),
        runID: pick(chance, ['1', '2', draw.word()]),
        revision: draw.word(),
        stage: maybe(chance, () => pick(chance, stageNames)),
        promote: maybe(chance, () => pick(chance, ['Stage', 'Full'])),
      },
    },
  ],
  (chance, draw, index) => [
    `${group}/maintenanceplanrecords/r${index % 4}`,
    {
      metadata: metadata(chance, draw, `r${index % 4}`),
      spec: {
        planName: `plan-${index % 2}`,
        planUID: pick(chance, [uidOf(`${group}/maintenanceplans/plan-${index % 2}`), draw.word()]),
        runID: pick(chance, ['1', '2', draw.word()]),
        revision: draw.word(),
        slice: draw.int(),
        verdicts: Object.fromEntries(
          many(chance, 3, () => pick(chance, [...nodeNames, draw.word()])).map(node => [
            node,
            verdict(chance, draw, node),
          ]),
        ),
      },
    },
  ],
  (chance, draw, index) => [
    `/api/v1/namespaces/drydock-plans/pods/w${index % 4}`,
    {
      metadata: {
        ...metadata(chance, draw, `w${index % 4}`, 'drydock-plans'),
        annotations: { [planAnnotation]: `plan-${index % 2}` },
      },
      spec: { nodeName: pick(chance, nodeNames) },
      status: {
        phase: pick(chance, ['Running', 'Succeeded', 'Failed', draw.word()]),
        reason: draw.word(),
        containerStatuses: many(chance, 2, () => ({
          name: draw.word(),
          state: {
            terminated: {
              exitCode: draw.int(),
              reason: draw.word(),
              message: pick(chance, [draw.word(), '{}', 'x'.repeat(10_000)]),
            },
          },
        })),
      },
    },
  ],
];
