export type { DemoCloud } from './actions/actions.ts';
export { type Dashboard, type DashboardOptions, startDashboard } from './http/dashboard.ts';
export type { NodeSummary, Scene } from './scene.ts';
export { Observer } from './watch/observer.ts';
