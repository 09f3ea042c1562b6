export { problemsOfPlan } from './webhook.ts';
