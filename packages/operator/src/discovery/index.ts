export { isAnyServed, kindsHere, kindsOf, leaderLease } from './served-kinds.ts';
