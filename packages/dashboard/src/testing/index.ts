export { type DashboardHarness, place } from './place.ts';
