export { quickClock } from './quick-clock.ts';
export { type Answer, type ServedRequest, serving } from './serving.ts';
