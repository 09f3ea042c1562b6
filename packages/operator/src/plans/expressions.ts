import { isBefore, type JsonObject, secondsAfter, timeText } from '@drydock/apimachinery';
import { anyVariables, compile, evaluate, mentions, type Schemas, type Wanted } from '@drydock/cel';
import type { Machine } from '@drydock/core/machine';
import { type CelResult, maxExpressionLength, maxGates, type Plan } from '@drydock/core/plan';

/**
 * Steps that the expressions may cost per pass: as much as five expressions at the limit of one,
 * half a second of the process at most. An ordinary expression costs about fifty steps a node.
 */
const perPass = 5_000_000;

/**
 * Seconds for which a plan whose expressions have cost more is not evaluated again: no other plan
 * waits for it.
 */
const restSeconds = 60;

/** A budget for the expressions of one plan together, for each pass over all its nodes. */
class CelCostBudget {
  /** Steps that are left for evaluations. */
  left = perPass;
  #restsUntil: Temporal.Instant | undefined;

  /** Reason why nothing more is evaluated, for people; undefined as long as steps are left. */
  get refusal(): string | undefined {
    return this.left > 0
      ? undefined
      : `the expressions of this plan cost more than ${perPass} steps for all nodes`;
  }

  /** Time at which evaluations may cost something again. */
  get restsUntil(): Temporal.Instant | undefined {
    return this.#restsUntil;
  }

  /** Begins another pass over the nodes. */
  begin(now: Temporal.Instant): void {
    if (this.left > 0) {
      this.left = perPass;
      return;
    }
    this.#restsUntil ??= secondsAfter(now, restSeconds);
    if (isBefore(now, this.#restsUntil)) return;
    this.#restsUntil = undefined;
    this.left = perPass;
  }
}

/**
 * Schemas of the variables in expressions of plans, as far as they are the same in every cluster: a
 * name that is missing here does not exist on any node. The spec and the status of a Node accept
 * any name, because newer releases of Kubernetes add to them.
 */

const anything: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true };
const texts: JsonObject = { additionalProperties: {} };

function objectOf(properties: JsonObject): JsonObject {
  return { properties };
}
function named(...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, anything]));
}

/** Schema of ObjectMeta without managed fields. */
const metadata = objectOf({
  ...named('name', 'generateName', 'selfLink', 'uid', 'resourceVersion', 'generation'),
  ...named(
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'ownerReferences',
    'finalizers',
  ),
  labels: texts,
  annotations: texts,
});

const node = objectOf({ ...named('apiVersion', 'kind', 'spec', 'status'), metadata });

/** Schema of the kept fields of a Machine, of any machine API. */
const machine = objectOf({
  ...named('apiVersion', 'kind'),
  metadata: objectOf({ ...named('name', 'namespace', 'creationTimestamp'), labels: texts }),
  spec: objectOf(named('providerID')),
  status: objectOf(named('phase')),
});

const plan = objectOf(named('name', 'runID'));

const planVariables: Schemas = new Map([
  ['node', node],
  ['machine', machine],
  ['plan', plan],
  ['now', undefined],
]);

/**
 * The CEL of plans: over `node`, the Node as the API serves it without images and managed fields;
 * `machine`, its Machine as far as it is known, with its metadata, providerID and phase (an empty
 * object if there is none); `plan`, its name and runID; and `now`; of gates over `object` and
 * `now`, or over `value` and `labels` of a sample.
 */

const gateVariables = {
  object: anyVariables(['object', 'now']),
  promql: anyVariables(['value', 'labels']),
};

const yesOrNo: Wanted = { types: ['bool'], name: 'true or false' };
const number: Wanted = { types: ['int', 'uint', 'double'], name: 'a number' };

type Name = keyof Plan['expressions'];
type Program = Extract<ReturnType<typeof compile>, { readonly kind: 'program' }>['program'];

/** The compiled expressions of one plan. */
export type PlanExpressions = {
  /** First error of an expression, with its place; undefined if all compile. */
  readonly problem?: string;
  /** True if an expression reads `now`: its result may change only because time has passed. */
  readonly readsNow: boolean;
  /** True if an expression reads `machine`. */
  readonly readsMachine: boolean;
  readonly due?: Evaluate<CelResult>;
  readonly done?: Evaluate<CelResult>;
  readonly finished?: Evaluate<CelResult>;
  /** Evaluates to a number; a node on which it fails comes last. */
  readonly rank?: Evaluate<number>;
  /** Budget of their cost; each pass over all nodes begins it again. */
  readonly pool: CelCostBudget;
  /** Expressions of gates of kinds object and promql, by the gate's name. */
  readonly gates: ReadonlyMap<string, Program>;
};

/** Returns the place of an expression in the spec; for a plan that is undone, in its rollback. */
function placeOf(name: Name, { undo }: PlanTexts): string {
  const part = undo === true ? 'spec.rollback' : 'spec';
  if (name === 'rank') return 'spec.order.expression';
  return name === 'finished'
    ? `${part}.work.external.finished.expression`
    : `${part}.${name}.expression`;
}

const names: readonly Name[] = ['due', 'done', 'finished', 'rank'];

/** Returns the kept fields of a Machine, where its API has them. */
function machineValue(machine: Machine | undefined): JsonObject {
  if (machine === undefined) return {};
  const { apiVersion, kind, name, namespace, labels, createdAt, providerId, phase } = machine;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels, creationTimestamp: timeText(createdAt) },
    spec: providerId === undefined ? {} : { providerID: providerId },
    status: phase === undefined ? {} : { phase },
  };
}

function planValue({ name, runId }: Plan): JsonObject {
  return { name, runID: runId };
}

/** Characters of an error that are shown. */
const maxLength = 200;

/** Function that evaluates an expression on a node, in the form in which the API serves it. */
type Evaluate<T> = (node: JsonObject, now: Temporal.Instant, machine?: Machine) => T;

function evaluatorOf(
  plan: Plan,
  program: Program,
  pool: CelCostBudget,
): Evaluate<ReturnType<typeof evaluate>> {
  const own = planValue(plan);
  const compute: Evaluate<ReturnType<typeof evaluate>> = (node, now, machine) => {
    const result =
      pool.left > 0
        ? evaluate(program, { node, machine: machineValue(machine), plan: own, now }, { pool })
        : undefined;
    return pool.refusal === undefined && result !== undefined
      ? result
      : { kind: 'error', message: pool.refusal ?? '' };
  };
  if (mentions(program, 'now') || mentions(program, 'machine')) return compute;
  // The result is the same as long as the node is.
  const known = new WeakMap<JsonObject, ReturnType<typeof evaluate>>();
  return (node, now) => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const result = compute(node, now);
    if (pool.refusal === undefined) known.set(node, result);
    return result;
  };
}

function saying(evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<CelResult> {
  return (node, now, machine) => {
    const result = evaluateOn(node, now, machine);
    if (result.kind === 'error') return { error: result.message.slice(0, maxLength) };
    return typeof result.value === 'boolean'
      ? result.value
      : { error: 'the expression is not true or false' };
  };
}

function ranking(evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<number> {
  return (node, now, machine) => {
    const result = evaluateOn(node, now, machine);
    return result.kind === 'value' && typeof result.value === 'number'
      ? result.value
      : Number.MAX_SAFE_INTEGER;
  };
}

/** Parts of a plan that are written in CEL. */
type PlanTexts = Pick<Plan, 'expressions' | 'gates' | 'undo'>;

/** An expression of a plan, and its place. */
type LocatedExpression = { readonly place: string; readonly compiled: ReturnType<typeof compile> };

/**
 * Compiles an expression. The API server has refused longer ones: a client that calls the webhook
 * directly cannot keep it busy. A character may count twice here.
 */
function compiled(source: string, variables: Schemas, wanted: Wanted): ReturnType<typeof compile> {
  return source.length > 2 * maxExpressionLength
    ? { kind: 'wrong', message: `an expression has ${maxExpressionLength} characters at most` }
    : compile(source, variables, wanted);
}

function compiledOf(plan: PlanTexts): ReadonlyMap<Name, LocatedExpression> {
  return new Map(
    names.flatMap((name): [Name, LocatedExpression][] => {
      const source = plan.expressions[name];
      if (source === undefined) return [];
      return [
        [
          name,
          {
            place: placeOf(name, plan),
            compiled: compiled(source, planVariables, name === 'rank' ? number : yesOrNo),
          },
        ],
      ];
    }),
  );
}

function gatesOf({ gates }: PlanTexts): ReadonlyMap<string, LocatedExpression> {
  return new Map(
    gates.slice(0, maxGates).flatMap((gate): [string, LocatedExpression][] => {
      if (gate.kind !== 'object' && gate.kind !== 'promql') return [];
      const place = `spec.gates[${gate.name}].${gate.kind}.expression`;
      return [
        [
          gate.name,
          { place, compiled: compiled(gate.expression, gateVariables[gate.kind], yesOrNo) },
        ],
      ];
    }),
  );
}

function problemsIn(found: Iterable<LocatedExpression>): readonly string[] {
  return [...found].flatMap(({ place, compiled }) =>
    compiled.kind === 'wrong' ? [`${place}: ${compiled.message}`] : [],
  );
}

function programsIn<Key>(found: ReadonlyMap<Key, LocatedExpression>): ReadonlyMap<Key, Program> {
  return new Map(
    [...found].flatMap(([key, { compiled }]) =>
      compiled.kind === 'program' ? [[key, compiled.program] as const] : [],
    ),
  );
}

/**
 * Returns the errors in the expressions of a plan, each with its place: the first one makes the
 * plan not Valid, and is the reason of the webhook's refusal.
 */
export function planProblems(plan: PlanTexts): readonly string[] {
  return problemsIn([...compiledOf(plan).values(), ...gatesOf(plan).values()]);
}

/**
 * Returns expressions that always fail. Nodes in flight do not count as done because nothing can be
 * evaluated: they wait, if an expression proves them done.
 */
function unreadable({ expressions }: Plan, problem: string): PlanExpressions {
  const fails = (): CelResult => ({ error: problem.slice(0, maxLength) });
  const isProven = expressions.done !== undefined || expressions.due !== undefined;
  return {
    problem,
    readsNow: false,
    readsMachine: false,
    pool: new CelCostBudget(),
    gates: new Map(),
    ...(isProven && { done: fails }),
  };
}

/**
 * Compiles the expressions of a plan. An error is reported with its place; nothing of the plan is
 * evaluated then.
 */
export function planExpressions(plan: Plan): PlanExpressions {
  const [found, foundGates] = [compiledOf(plan), gatesOf(plan)];
  const [problem] = problemsIn([...found.values(), ...foundGates.values()]);
  if (problem !== undefined) return unreadable(plan, problem);
  const [programs, gates] = [programsIn(found), programsIn(foundGates)];
  const pool = new CelCostBudget();
  const on = <T>(
    name: Name,
    make: (evaluateOn: Evaluate<ReturnType<typeof evaluate>>) => Evaluate<T>,
  ): Evaluate<T> | undefined => {
    const program = programs.get(name);
    return program && make(evaluatorOf(plan, program, pool));
  };
  const [due, done, finished, rank] = [
    on('due', saying),
    on('done', saying),
    on('finished', saying),
    on('rank', ranking),
  ];
  return {
    gates,
    pool,
    readsMachine: [...programs.values()].some(program => mentions(program, 'machine')),
    readsNow:
      [...programs.values(), ...gates.values()].some(program => mentions(program, 'now')) ||
      plan.dueAfterSeconds !== undefined,
    ...(due && { due }),
    ...(done && { done }),
    ...(finished && { finished }),
    ...(rank && { rank }),
  };
}
