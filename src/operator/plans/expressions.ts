import { compile, mentions } from '../../cel/check.ts';
import { evaluate } from '../../cel/evaluate.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Plan } from '../../core/plan/plan.ts';
import type { Said } from '../../core/plan/snapshot.ts';
import type { NodeObject } from './plan-objects.ts';
import type { PlanExpressions } from './take-plan-snapshot.ts';

/** The CEL of plans: over `node`, the Node as the API serves it without images and managed fields; `plan`, its name and runID; and `now`. */

const variables = ['node', 'plan', 'now'];

type Name = keyof Plan['expressions'];
type Program = Extract<ReturnType<typeof compile>, { readonly kind: 'program' }>['program'];

const places: Readonly<Record<Name, string>> = {
  due: 'spec.due.expression',
  done: 'spec.done.expression',
  finished: 'spec.work.external.finished.expression',
  rank: 'spec.order.expression',
};

const planValue = ({ name, runId }: Plan): JsonObject => ({ name, runID: runId });

/** Characters of an error that are told. */
const longest = 200;

type Evaluate<T> = (node: NodeObject, now: Temporal.Instant) => T;

const evaluatorOf = (plan: Plan, program: Program): Evaluate<ReturnType<typeof evaluate>> => {
  const own = planValue(plan);
  const compute: Evaluate<ReturnType<typeof evaluate>> = ({ object }, now) => evaluate(program, { node: object, plan: own, now });
  if (mentions(program, 'now')) return compute;
  // As long as the node is the same it says the same.
  const known = new WeakMap<NodeObject, ReturnType<typeof evaluate>>();
  return (node, now) => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const result = compute(node, now);
    known.set(node, result);
    return result;
  };
};

const saying = (evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<Said> => {
  return (node, now) => {
    const result = evaluateOn(node, now);
    if (result.kind === 'error') return { error: result.message.slice(0, longest) };
    return typeof result.value === 'boolean' ? result.value : { error: 'the expression is not true or false' };
  };
};

const ranking = (evaluateOn: Evaluate<ReturnType<typeof evaluate>>): Evaluate<number> => {
  return (node, now) => {
    const result = evaluateOn(node, now);
    return result.kind === 'value' && typeof result.value === 'number' ? result.value : Number.MAX_SAFE_INTEGER;
  };
};

/** Compiles the expressions of a plan. What cannot be read is told with its place; nothing of the plan is evaluated then. */
export const planExpressions = (plan: Plan): PlanExpressions => {
  const names = Object.keys(places) as readonly Name[];
  const programs = new Map<Name, Program>();
  for (const name of names) {
    const source = plan.expressions[name];
    if (source === undefined) continue;
    const compiled = compile(source, variables);
    if (compiled.kind === 'wrong') return { problem: `${places[name]}: ${compiled.message}`, readsNow: false };
    programs.set(name, compiled.program);
  }
  const on = <T>(name: Name, make: (evaluateOn: Evaluate<ReturnType<typeof evaluate>>) => Evaluate<T>): Evaluate<T> | undefined => {
    const program = programs.get(name);
    return program && make(evaluatorOf(plan, program));
  };
  const [due, done, finished, rank] = [on('due', saying), on('done', saying), on('finished', saying), on('rank', ranking)];
  return {
    readsNow: [...programs.values()].some(program => mentions(program, 'now')) || plan.dueAfterSeconds !== undefined,
    ...(due && { due }),
    ...(done && { done }),
    ...(finished && { finished }),
    ...(rank && { rank }),
  };
};
