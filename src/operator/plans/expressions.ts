import { compile, mentions } from '../../cel/check.ts';
import { evaluate } from '../../cel/evaluate/evaluate.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Machine } from '../../core/machine/machine.ts';
import type { Plan } from '../../core/plan/plan.ts';
import type { Said } from '../../core/plan/snapshot.ts';
import { timeText } from '../../core/time.ts';
import type { NodeObject } from './plan-objects.ts';
import { StepPool } from './step-pool.ts';

/** The CEL of plans: over `node`, the Node as the API serves it without images and managed fields; `machine`, its Machine as far as it is known, with its metadata, providerID and phase (an
 * empty object where there is none); `plan`, its name and runID; and `now`; of gates over `object` and `now`, or over `value` and `labels` of a sample. */

const variables = ['node', 'machine', 'plan', 'now'];
const gateVariables = { object: ['object', 'now'], promql: ['value', 'labels'] };

type Name = keyof Plan['expressions'];
type Program = Extract<ReturnType<typeof compile>, { readonly kind: 'program' }>['program'];

/** The expressions of one plan, compiled. */
export type PlanExpressions = {
  /** What of them cannot be read, with its place; undefined when all can. */
  readonly problem?: string;
  /** One of them looks at `now`: it may say something else only because time has passed. */
  readonly readsNow: boolean;
  /** One of them looks at `machine`. */
  readonly readsMachine: boolean;
  readonly due?: Evaluate<Said>;
  readonly done?: Evaluate<Said>;
  readonly finished?: Evaluate<Said>;
  /** A number; where it fails the node comes last. */
  readonly rank?: Evaluate<number>;
  /** What they may cost; whoever looks at all nodes begins it anew. */
  readonly pool: StepPool;
  /** Of gates of kinds object and promql, by the gate's name. */
  readonly gates: ReadonlyMap<string, Program>;
};

const places: Readonly<Record<Name, string>> = {
  due: 'spec.due.expression',
  done: 'spec.done.expression',
  finished: 'spec.work.external.finished.expression',
  rank: 'spec.order.expression',
};

/** What is kept of a Machine, where its API has it. */
const machineValue = (machine: Machine | undefined): JsonObject => {
  if (machine === undefined) return {};
  const { apiVersion, kind, name, namespace, labels, createdAt, providerId, phase } = machine;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels, creationTimestamp: timeText(createdAt) },
    spec: providerId === undefined ? {} : { providerID: providerId },
    status: phase === undefined ? {} : { phase },
  };
};

const planValue = ({ name, runId }: Plan): JsonObject => ({ name, runID: runId });

/** Characters of an error that are told. */
const longest = 200;

type Evaluate<T> = (node: NodeObject, now: Temporal.Instant, machine?: Machine) => T;

const evaluatorOf = (plan: Plan, program: Program, pool: StepPool): Evaluate<ReturnType<typeof evaluate>> => {
  const own = planValue(plan);
  const compute: Evaluate<ReturnType<typeof evaluate>> = ({ object }, now, machine) => {
    const result =
      pool.left > 0 ? evaluate(program, { node: object, machine: machineValue(machine), plan: own, now }, { pool }) : undefined;
    return pool.refusal === undefined && result !== undefined ? result : { kind: 'error', message: pool.refusal ?? '' };
  };
  if (mentions(program, 'now') || mentions(program, 'machine')) return compute;
  // As long as the node is the same it says the same.
  const known = new WeakMap<NodeObject, ReturnType<typeof evaluate>>();
  return (node, now) => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const result = compute(node, now);
    if (pool.refusal === undefined) known.set(node, result);
    return result;
  };
};

const saying = (evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<Said> => {
  return (node, now, machine) => {
    const result = evaluateOn(node, now, machine);
    if (result.kind === 'error') return { error: result.message.slice(0, longest) };
    return typeof result.value === 'boolean' ? result.value : { error: 'the expression is not true or false' };
  };
};

const ranking = (evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<number> => {
  return (node, now, machine) => {
    const result = evaluateOn(node, now, machine);
    return result.kind === 'value' && typeof result.value === 'number' ? result.value : Number.MAX_SAFE_INTEGER;
  };
};

const wrong = (place: string, message: string): PlanExpressions => ({
  problem: `${place}: ${message}`,
  readsNow: false,
  readsMachine: false,
  pool: new StepPool(),
  gates: new Map(),
});

type GatePrograms = ReadonlyMap<string, Program> | { readonly problem: { readonly place: string; readonly message: string } };

const gatePrograms = ({ gates }: Plan): GatePrograms => {
  const programs = new Map<string, Program>();
  for (const gate of gates) {
    if (gate.kind !== 'object' && gate.kind !== 'promql') continue;
    const compiled = compile(gate.expression, gateVariables[gate.kind]);
    if (compiled.kind === 'wrong')
      return { problem: { place: `spec.gates[${gate.name}].${gate.kind}.expression`, message: compiled.message } };
    programs.set(gate.name, compiled.program);
  }
  return programs;
};

/** Compiles the expressions of a plan. What cannot be read is told with its place; nothing of the plan is evaluated then. */
export const planExpressions = (plan: Plan): PlanExpressions => {
  const names = Object.keys(places) as readonly Name[];
  const programs = new Map<Name, Program>();
  for (const name of names) {
    const source = plan.expressions[name];
    if (source === undefined) continue;
    const compiled = compile(source, variables);
    if (compiled.kind === 'wrong') return wrong(places[name], compiled.message);
    programs.set(name, compiled.program);
  }
  const gates = gatePrograms(plan);
  if ('problem' in gates) return wrong(gates.problem.place, gates.problem.message);
  const pool = new StepPool();
  const on = <T>(name: Name, make: (evaluateOn: Evaluate<ReturnType<typeof evaluate>>) => Evaluate<T>): Evaluate<T> | undefined => {
    const program = programs.get(name);
    return program && make(evaluatorOf(plan, program, pool));
  };
  const [due, done, finished, rank] = [on('due', saying), on('done', saying), on('finished', saying), on('rank', ranking)];
  return {
    gates,
    pool,
    readsMachine: [...programs.values()].some(program => mentions(program, 'machine')),
    readsNow: [...programs.values(), ...gates.values()].some(program => mentions(program, 'now')) || plan.dueAfterSeconds !== undefined,
    ...(due && { due }),
    ...(done && { done }),
    ...(finished && { finished }),
    ...(rank && { rank }),
  };
};
