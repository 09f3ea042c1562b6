export { planExpressions } from './expressions.ts';
export { haltAnnotation, readWorkPod } from './plan-objects.ts';
