import type { JsonObject } from '@drydock/apimachinery';
import { approvalObject } from '@drydock/core/plan';
import { objects, part, type Stored, text } from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import { PodRecord } from '../simulate/record.ts';
import {
  idleStepMs,
  type NodeRun,
  PlannedMaintenanceError,
  quietMs,
  type RunOptions,
  runInSandbox,
  type SimulatedRun,
  stepMs,
} from '../simulate/run.ts';
import type { Sandbox, SandboxOptions } from '../simulate/sandbox.ts';
import { type MaintenanceTrace, WaitRecorder } from '../simulate/waits.ts';
import { NodeWork, type SimulatedPlan, type WorkTimes } from './node-work.ts';
import { type NodeProgress, PlanProgress, type PlanWait } from './plan-progress.ts';
import { isUnderWay, type RunSoFar, resume, stuckAs, takeOver } from './run-so-far.ts';

/** A plan to rehearse. */
export type PlanSimulation = {
  readonly plan: SimulatedPlan;
  readonly times: WorkTimes;
  readonly horizonMs: number;
  readonly soFar: RunSoFar;
  /** First nodes, with `order.by: Cost`. */
  readonly firstNodes: readonly string[];
};

export type PlanRunProgress = {
  readonly done: number;
  readonly due: number;
  readonly inFlight: number;
  readonly madeUpMs: number;
};

/**
 * One run of a plan: its nodes, and the plan's own outcome. Times in milliseconds since the plan
 * was created.
 */
export type PlanRun = SimulatedRun & {
  readonly phase: string;
  readonly message: string;
  /** Waits at the end, where the plan is not complete. */
  readonly waiting: readonly PlanWait[];
  /** Number of due nodes that were not started. */
  readonly left: number;
  readonly completeMs?: number;
  readonly openings: number;
};

const resource = 'maintenanceplans.drydock.dev';

type Play = {
  readonly sandbox: Sandbox;
  readonly order: PlanSimulation;
  readonly pods: PodRecord;
  readonly progress: PlanProgress;
  /** Traces of Maintenances, by node. */
  readonly traces: Map<string, MaintenanceTrace>;
};

/** Creates every approval that the plan waits for. */
function approve({ sandbox }: Play, plan: Stored): void {
  const run = (plan['status'] as JsonObject | undefined)?.['run'];
  if (
    !objects((plan['status'] as JsonObject | undefined)?.['waiting']).some(
      ({ reason }) => reason === 'Approval',
    )
  )
    return;
  const { name, uid } = plan.metadata;
  const stage = text(run, 'stage');
  const specHash = text(plan['status'], 'specHash');
  const approval = approvalObject(
    { name, uid, specHash },
    { id: text(run, 'id'), revision: text(run, 'revision') },
    stage === '' ? {} : { stage },
  );
  // An approval that exists already is refused.
  sandbox.clock.after(
    0,
    () =>
      void writesOn(sandbox.cluster.registry).create('maintenanceapprovals.drydock.dev', approval),
  );
}

function isStill({ pods, progress, order, traces }: Play): boolean {
  const lastMs = Math.max(
    progress.changedMs,
    ...pods.changedMs.values(),
    ...[...traces.values()].map(({ beganMs = 0 }) => beganMs),
  );
  return pods.nowMs - lastMs >= quietMs && !progress.isDue(pods.nowMs, order.horizonMs);
}

async function untilOver(
  play: Play,
  waits: WaitRecorder,
  onProgress: (progress: PlanRunProgress) => void,
): Promise<void> {
  const { sandbox, order, pods, progress } = play;
  let seen = -1;
  let idle = 0;
  while (!progress.isOver && pods.nowMs < order.horizonMs && !isStill(play)) {
    await sandbox.clock.advance(idle < 30 ? stepMs : idleStepMs);
    waits.look();
    const moved = pods.departures + progress.changedMs;
    idle = moved === seen ? idle + 1 : 0;
    seen = moved;
    onProgress({
      done: progress.done,
      due: progress.due,
      inFlight: progress.inFlight,
      madeUpMs: pods.nowMs,
    });
  }
}

function outcomeOf({ verdict, endedMs }: NodeProgress): NodeRun['outcome'] {
  if (verdict === 'Done') return 'drained';
  return endedMs === undefined ? 'stuck' : 'failed';
}

/** Returns the run of a node: its Maintenance has its waits, the plan its start and end. */
function nodeRun({ traces }: Play, one: NodeProgress): NodeRun {
  const { node, beganMs, endedMs } = one;
  const trace: MaintenanceTrace = traces.get(node) ?? {
    node,
    name: node,
    state: 'Pending',
    message: '',
    waits: new Map(),
  };
  const { drainedMs: _drained, failedMs: _failed, ...rest } = trace;
  const outcome = outcomeOf(one);
  const ended =
    endedMs === undefined
      ? {}
      : outcome === 'drained'
        ? { drainedMs: endedMs }
        : { failedMs: endedMs };
  return {
    outcome,
    trace: {
      ...rest,
      ...(one.message !== undefined && { message: one.message }),
      beganMs,
      ...ended,
    },
  };
}

function create({ cluster }: Sandbox, plan: JsonObject): void {
  const written = writesOn(cluster.registry).create(resource, plan);
  if (written.kind === 'refused') throw new PlannedMaintenanceError(written.message);
}

/** Milliseconds within which the operator reconciles a new plan and writes its status. */
const seenMs = 1000;

/**
 * Creates the plan, paused, where there is state to transfer before it starts. Returns false
 * without creating it otherwise.
 */
async function giveRun(
  sandbox: Sandbox,
  { plan, soFar, firstNodes }: PlanSimulation,
): Promise<boolean> {
  if (!isUnderWay(soFar) && firstNodes.length === 0) return false;
  create(sandbox, { ...plan.object, spec: { ...part(plan.object, 'spec'), state: 'Paused' } });
  await sandbox.clock.advance(seenMs);
  takeOver(sandbox, plan.name, soFar, firstNodes);
  await sandbox.clock.advance(seenMs);
  return true;
}

async function perform(
  sandboxOptions: SandboxOptions,
  sandbox: Sandbox,
  order: PlanSimulation,
  { workloads, onProgress }: Pick<RunOptions<PlanRunProgress>, 'workloads' | 'onProgress'>,
): Promise<Play> {
  const { registry } = sandbox.cluster;
  const isGiven = await giveRun(sandbox, order);
  const progress = new PlanProgress(sandbox.clock.now().epochMilliseconds);
  const pods = new PodRecord(registry.store, workloads, sandbox.clock, node =>
    progress.nodes.has(node),
  );
  const play: Play = { sandbox, order, pods, progress, traces: new Map() };
  const waits = new WaitRecorder(
    registry,
    sandboxOptions.adapters,
    trace => void play.traces.set(trace.node, trace),
  );
  const work = new NodeWork(sandbox, order.plan, order.times, order.soFar);
  const unsubscribe = registry.store.subscribe(({ type, object }) => {
    if (type === 'removed') return;
    progress.observe(object, pods.nowMs);
    approve(play, object);
  }, resource);
  if (isGiven) resume(sandbox, order.plan.name);
  else create(sandbox, order.plan.object);
  await untilOver(play, waits, onProgress);
  for (const part of [waits, work, pods]) part.end();
  unsubscribe();
  return play;
}

/**
 * Simulates a plan once, in simulated time. Throws a PlannedMaintenanceError when the API refuses
 * it.
 */
export async function simulatePlan(
  sandboxOptions: SandboxOptions,
  order: PlanSimulation,
  options: RunOptions<PlanRunProgress>,
): Promise<PlanRun> {
  const { plan, soFar } = order;
  const neverStarts = (pod: Stored): boolean => stuckAs(soFar, plan.name, pod) !== undefined;
  const { run, played } = await runInSandbox(
    { ...sandboxOptions, sick: { ...sandboxOptions.sick, neverStarts } },
    options,
    sandbox => perform(sandboxOptions, sandbox, order, options),
    play => [...play.progress.nodes.values()].map(one => nodeRun(play, one)),
  );
  const { phase, message, waiting, due, completeMs, openings } = played.progress;
  const isComplete = phase === 'Complete';
  const end = {
    phase,
    message,
    openings,
    waiting: isComplete ? [] : waiting,
    left: isComplete ? 0 : due,
  };
  return { ...run, ...end, ...(completeMs !== undefined && { completeMs }) };
}
