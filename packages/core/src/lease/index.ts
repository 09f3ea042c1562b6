export { isLeased } from './is-leased.ts';
export { type Lease, type LeaseTerms, readLease } from './lease.ts';
