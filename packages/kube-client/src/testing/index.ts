export { clientA, clientB, serverPair, testAuthority } from './certificates.ts';
