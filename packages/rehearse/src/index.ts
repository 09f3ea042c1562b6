export { rehearsalManager } from './rehearsal-manager.ts';
export { type RehearsalOptions, rehearse } from './rehearse.ts';
