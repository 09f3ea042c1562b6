export { leaderLease } from './leader-lease.ts';
export { isAnyServed, kindsHere, kindsOf } from './served-kinds.ts';
