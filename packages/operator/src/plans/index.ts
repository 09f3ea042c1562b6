export { planExpressions, planProblems } from './expressions.ts';
export { haltAnnotation, readWorkPod } from './plan-objects.ts';
