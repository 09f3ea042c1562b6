export { leaderLease } from './kinds.ts';
