export { playablePlan } from './node-work.ts';
export {
  comparisonPicture,
  comparisonText,
  planForecastText,
  planSummary,
  settingText,
} from './plan-words.ts';
export { nodesOfPlan, type PlanForecast, type PlanSetting, rehearsePlan } from './rehearse-plan.ts';
export type { PlanRunProgress } from './simulate-plan.ts';
