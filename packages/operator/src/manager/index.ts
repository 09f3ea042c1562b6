export type { IntakeSettings } from './event-intake.ts';
export { newManager, type SharedParts } from './manager.ts';
export { type ManagerSettings, problemsOfPlan, type WebhookSettings } from './webhook.ts';
