export { comparisonPicture } from './plan-picture.ts';
export { planSummary } from './plan-summary.ts';
export { comparisonText, planForecastText, settingText } from './plan-words.ts';
export { playablePlan } from './playable-plan.ts';
export { nodesOfPlan, type PlanForecast, type PlanSetting, rehearsePlan } from './rehearse-plan.ts';
export type { PlanRunProgress } from './simulate-plan.ts';
