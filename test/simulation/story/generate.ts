import type { JsonObject } from '@drydock/apimachinery';
import { mover } from '../cluster/responders.ts';
import { Dice } from './dice.ts';
import { plansOf, replacementOf, withSecondThoughts } from './plans.ts';
import {
  type Announcement,
  type CallFaults,
  type ClockStep,
  type Deed,
  deedKinds,
  type End,
  type Kind,
  type MachinesPlan,
  type NodePlan,
  type RespondersPlan,
  type Span,
  type Story,
  type StoryMaintenance,
  type WatchFaults,
  type WhenInStory,
  type WindowPlan,
  type Workload,
} from './story.ts';
import { minuteMs, timeAt } from './times.ts';
import { budgetsFor, vmsOf, workloadsOf } from './workloads.ts';

/** Makes a story of a seed. */

/** The first node is a haven: nothing is done to it, so that there is always a place to go to. */
function nodesOf(dice: Dice): readonly NodePlan[] {
  return dice.times(dice.whole(3, 5), index => ({
    name: `n${index}`,
    zone: `zone-${index % 3}`,
    spec: {
      ...(index > 0 && dice.is(10) && { unschedulable: true }),
      ...(index > 0 &&
        dice.is(12) && { taints: [{ key: 'team', value: 'blue', effect: 'PreferNoSchedule' }] }),
    },
    labels: {
      ...(dice.is(20) && {
        'remediation.medik8s.io/exclude-from-remediation': dice.of(['true', 'false']),
      }),
      ...(dice.is(30) && { team: 'blue' }),
    },
  }));
}

function pick(dice: Dice): JsonObject {
  return dice.of<(dice: Dice) => JsonObject>([
    dice => ({ podSelector: { matchLabels: { app: `w${dice.whole(0, 4)}` } } }),
    dice => ({ namespaces: [dice.of(['shop', 'bank'])] }),
    dice => ({ ownerKinds: [dice.of(['StatefulSet', 'ReplicaSet', 'Job'])] }),
    () => ({ maxPriority: 0 }),
  ])(dice);
}

function ladderOf(dice: Dice): JsonObject {
  const first = dice.whole(20, 240);
  const action = dice.of(['Delete', 'Delete', 'Fail', 'Release', 'KeepTrying']);
  const rung = {
    afterSeconds: first,
    action,
    ...(action === 'Delete' && dice.is(50) && { gracePeriodSeconds: dice.whole(1, 20) }),
  };
  return {
    ladder: [
      rung,
      ...(dice.is(30)
        ? [
            {
              afterSeconds: first + dice.whole(30, 200),
              action: dice.of(['KeepTrying', 'Delete', 'Fail']),
            },
          ]
        : []),
    ],
  };
}

function drainOf(dice: Dice): JsonObject {
  return {
    ...(dice.is(60) && { force: true }),
    ...(dice.is(60) && { deleteEmptyDirData: true }),
    ...(dice.is(5) && { disableEviction: true }),
    ...(dice.is(4) && { ignoreDaemonSets: false }),
    ...(dice.is(20) && { gracePeriodSeconds: dice.whole(0, 30) }),
    ...(dice.is(10) && { maxGracePeriodSeconds: dice.whole(5, 60) }),
    ...(dice.is(15) && { skipWaitForDeleteTimeoutSeconds: dice.whole(10, 120) }),
    ...(dice.is(25) && { waves: dice.times(dice.whole(1, 3), () => pick(dice)) }),
    ...(dice.is(20) && { ignorePods: [pick(dice)] }),
    ...(dice.is(15) && { awaitPods: [pick(dice)] }),
    ...(dice.is(6) && { podSelector: { matchLabels: { app: `w${dice.whole(0, 4)}` } } }),
    ...(dice.is(25) && ladderOf(dice)),
    ...(dice.is(40) && {
      virtualMachines: {
        notMigratable: dice.of(['Wait', 'ShutDown', 'Refuse']),
        notMigrated: dice.of(['Evict', 'Wait', 'Refuse']),
        ...(dice.is(50) && { shutDownAfterSeconds: dice.whole(0, 120) }),
      },
    }),
  };
}

function startOf(dice: Dice, faultyMs: number): JsonObject {
  return {
    ...(dice.is(40) && { notBefore: timeAt(dice.share() * faultyMs) }),
    ...(dice.is(30) && { deadline: timeAt(faultyMs * (0.5 + dice.share())) }),
    ...(dice.is(30) && { windows: 'Ignore' }),
    ...(dice.is(40) && { expectedSeconds: dice.whole(10, 200) }),
  };
}

function specOf(dice: Dice, kind: Kind, node: string, faultyMs: number): JsonObject {
  return kind === 'Maintenance'
    ? {
        nodeName: node,
        reason: 'simulated',
        ...(dice.is(15) && { stage: dice.of(['Announce', 'Cordon']) }),
        ...(dice.is(30) && { start: startOf(dice, faultyMs) }),
        drain: drainOf(dice),
      }
    : { nodeName: node, reason: 'simulated' };
}

function maintenancesOf(
  dice: Dice,
  nodes: readonly NodePlan[],
  faultyMs: number,
): readonly StoryMaintenance[] {
  return dice.times(dice.whole(4, 9), index => {
    const kind = dice.of<Kind>([
      'Maintenance',
      'Maintenance',
      'Maintenance',
      'medik8s',
      'kubevirt',
      'alpha',
    ]);
    // Now and then one for a node that is not there.
    const node = dice.is(4) ? 'nowhere' : `n${dice.whole(1, nodes.length - 1)}`;
    const atMs = dice.is(50) ? dice.share() * 20_000 : dice.share() * faultyMs * 0.8;
    return {
      kind,
      name: `m${index}`,
      node,
      atMs,
      spec: specOf(dice, kind, node, faultyMs),
      ...(dice.is(50) && { deleteAtMs: atMs + dice.share() * faultyMs }),
    };
  });
}

function windowsOf(dice: Dice, faultyMs: number): readonly WindowPlan[] {
  return dice.is(25)
    ? dice.times(dice.whole(1, 2), index => {
        const from = dice.share() * faultyMs * 0.7;
        const opening = { from: timeAt(from), to: timeAt(from + dice.whole(1, 6) * minuteMs) };
        const freeze = { from: timeAt(dice.share() * faultyMs), to: timeAt(faultyMs) };
        return {
          name: `window-${index}`,
          atMs: dice.is(70) ? -10_000 : dice.share() * faultyMs,
          spec: {
            openings: [opening],
            ...(dice.is(15) && { freezes: [freeze] }),
            atEnd: dice.of(['Continue', 'Pause', 'Release']),
            missed: dice.of(['BeforeDeadline', 'EvenInFreeze', 'Wait']),
            expectedDuration: `${dice.whole(10, 120)}s`,
          },
        };
      })
    : [];
}

/** Windows that are made right before a Maintenance: their watch may tell of them after it. */
function windowsBeside(
  dice: Dice,
  maintenances: readonly StoryMaintenance[],
): readonly WindowPlan[] {
  const [first, ...others] = maintenances.filter(({ kind }) => kind === 'Maintenance');
  if (first === undefined || !dice.is(15)) return [];
  const { atMs } = dice.of([first, ...others]);
  const from = atMs + dice.whole(1, 3) * minuteMs;
  const openings = [{ from: timeAt(from), to: timeAt(from + 5 * minuteMs) }];
  return [
    {
      name: 'window-beside',
      atMs: atMs - dice.whole(1, 20),
      spec: { openings, atEnd: 'Continue' },
    },
  ];
}

function momentOf(dice: Dice, faultyMs: number): WhenInStory {
  return dice.is(35)
    ? { atMs: dice.share() * faultyMs }
    : { call: dice.whole(20, 500), side: dice.of(['before', 'after']) };
}

function deedsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.times(dice.whole(0, 10), () => ({
    kind: dice.of(deedKinds),
    pick: dice.share(),
    when: momentOf(dice, faultyMs),
  }));
}

/**
 * A management cluster has Machines of other clusters as well, and the names of their nodes are
 * what ours are called.
 */
function machineDeedsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.times(dice.whole(1, 3), () => ({
    kind: 'machineOfOthers',
    pick: dice.share(),
    when: { atMs: dice.share() * faultyMs * 0.5 },
  }));
}

/** One of three stories has an emergency stop, or two. */
function haltsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.is(33)
    ? dice.times(dice.whole(1, 2), () => ({
        kind: 'halt',
        pick: dice.share(),
        when: { atMs: dice.share() * faultyMs },
      }))
    : [];
}

/** Nodes leave the nodes of plans, and come back. */
function labelDeedsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.is(25)
    ? dice.times(dice.whole(1, 3), () => ({
        kind: 'relabel',
        pick: dice.share(),
        when: momentOf(dice, faultyMs),
      }))
    : [];
}

function oddDeedsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.times(dice.whole(0, 6), () => ({
    kind: 'odd',
    pick: dice.share(),
    when: momentOf(dice, faultyMs),
  }));
}

function daemonSetDeedsOf(dice: Dice, faultyMs: number): readonly Deed[] {
  return dice.times(dice.whole(0, 3), () => ({
    kind: 'daemonSet',
    pick: dice.share(),
    when: momentOf(dice, faultyMs),
  }));
}

function endsOf(dice: Dice, faultyMs: number): readonly End[] {
  return dice.times(dice.whole(0, 5), () => ({
    how: dice.of(['killed', 'killed', 'killed', 'stopped', 'fenced']),
    when: momentOf(dice, faultyMs),
    pauseMs: dice.of([100, 1000, 5000, 20_000]) * dice.share(),
    lingersMs: dice.share() * 60_000,
  }));
}

function callsOf(dice: Dice): CallFaults {
  const amount = dice.of([0, 0.02, 0.02, 0.1]);
  const share = (): number => amount * dice.share();
  return {
    refused: share(),
    conflict: share(),
    lost: share(),
    unanswered: share(),
    slow: dice.of([0, 0.05, 0.3]) * dice.share(),
  };
}

function watchesOf(dice: Dice): WatchFaults {
  return {
    lagMs: dice.of([0, 200, 3000]),
    cutEveryMs: dice.of([0, 20_000, 90_000]),
    expired: dice.of([0, 0.3, 0.8]),
    stale: dice.of([0, 0.5]),
    hangs: dice.is(15),
  };
}

function outagesOf(dice: Dice, faultyMs: number): readonly Span[] {
  return dice.is(25)
    ? dice.times(1, () => {
        const fromMs = dice.share() * faultyMs;
        return { fromMs, toMs: fromMs + dice.whole(1, 8) * 1000 };
      })
    : [];
}

function clockStepsOf(dice: Dice, faultyMs: number): readonly ClockStep[] {
  return dice.is(15)
    ? dice.times(dice.whole(1, 3), () => ({
        atMs: dice.share() * faultyMs,
        byMs: Math.round((dice.share() - 0.5) * 120_000),
      }))
    : [];
}

function announcementsOf(dice: Dice, faultyMs: number): readonly Announcement[] {
  return dice.times(dice.whole(1, 4), () => ({
    atMs: dice.share() * faultyMs * 0.8,
    pick: dice.share(),
    kind: dice.of([
      'reboot',
      'reboot',
      'maintenance',
      'retirement',
      'stop',
      'preemption',
      'rebalance',
      'freeze',
    ]),
    inSeconds: dice.of([120, 600, 1800]),
    ...(dice.is(25) && { cancelAfterMs: dice.share() * 300_000 }),
    ...(dice.is(20) && { lies: true as const }),
  }));
}

function machinesOf(dice: Dice, faultyMs: number): MachinesPlan {
  return {
    flavour: dice.of(['openshift', 'capi']),
    replicas: dice.whole(2, 4),
    perSet: dice.whole(1, 2),
    announcements: announcementsOf(dice, faultyMs),
  };
}

function respondersOf(dice: Dice, faultyMs: number): RespondersPlan {
  const from = dice.share() * faultyMs;
  return {
    hasControllers: dice.is(70),
    away: dice.is(40) ? { from, to: from + dice.whole(5, 120) * 1000 } : { from: 0, to: 0 },
    shift: dice.whole(0, 3),
  };
}

const named = { evictionResponders: [{ name: mover, priority: 10_000 }] };

/** Two of three workloads name a responder. */
function withResponders(dice: Dice, workloads: readonly Workload[]): readonly Workload[] {
  return workloads.map(workload => {
    const { draft } = workload;
    const spec = draft['spec'] as JsonObject;
    if (!dice.is(67)) return workload;
    if (workload.resource === 'pods')
      return { ...workload, draft: { ...draft, spec: { ...spec, ...named } } };
    const template = spec['template'] as JsonObject;
    return {
      ...workload,
      draft: {
        ...draft,
        spec: {
          ...spec,
          template: { ...template, spec: { ...(template['spec'] as JsonObject), ...named } },
        },
      },
    };
  });
}

/** The same seed, the same story. */
export function generate(seed: number): Story {
  const dice = new Dice(seed * 2 + 1);
  const faultyMs = dice.whole(3, 10) * minuteMs;
  const nodes = nodesOf(dice);
  const drawn = workloadsOf(dice);
  // Of dice of its own: the rest of a story is the same with it and without.
  const more = new Dice(seed * 2 + 1_000_003);
  const responders = more.is(25) ? respondersOf(more, faultyMs) : undefined;
  const workloads = responders === undefined ? drawn : withResponders(more, drawn);
  const budgets = budgetsFor(dice, workloads);
  const vms = dice.is(25) ? vmsOf(dice) : [];
  const machines = dice.is(20) ? machinesOf(dice, faultyMs) : undefined;
  const windows = windowsOf(dice, faultyMs);
  const maintenances = maintenancesOf(dice, nodes, faultyMs);
  const replacement =
    machines === undefined ? [] : replacementOf(new Dice(seed * 2 + 4_000_003), nodes, faultyMs);
  return {
    seed,
    faultyMs,
    nodes,
    workloads,
    budgets,
    vms,
    machines,
    responders,
    plans: [
      ...withSecondThoughts(
        new Dice(seed * 2 + 11_000_003),
        faultyMs,
        plansOf(new Dice(seed * 2 + 2_000_003), faultyMs),
      ),
      ...replacement,
    ],
    windows: [...windows, ...windowsBeside(new Dice(seed * 2 + 6_000_003), maintenances)],
    maintenances,
    deeds: [
      ...deedsOf(dice, faultyMs),
      ...oddDeedsOf(new Dice(seed * 2 + 3_000_003), faultyMs),
      ...daemonSetDeedsOf(new Dice(seed * 2 + 5_000_003), faultyMs),
      ...(machines === undefined ? [] : machineDeedsOf(new Dice(seed * 2 + 7_000_003), faultyMs)),
      ...haltsOf(new Dice(seed * 2 + 8_000_003), faultyMs),
      ...labelDeedsOf(new Dice(seed * 2 + 12_000_003), faultyMs),
    ],
    ends: endsOf(dice, faultyMs),
    outages: outagesOf(dice, faultyMs),
    clockSteps: clockStepsOf(dice, faultyMs),
    calls: callsOf(dice),
    watches: watchesOf(dice),
  };
}
