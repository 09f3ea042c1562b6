/**
 * Name of the leader's Lease, which the replaced operator uses too: so it and Drydock never act at
 * the same time.
 */
export const leaderLease = '135b1886.medik8s.io';
