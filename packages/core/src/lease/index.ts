export { isLeased, type Lease, type LeaseTerms, readLease } from './lease.ts';
