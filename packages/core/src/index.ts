export { admissionRefusal } from './admission-refusal.ts';
export { type EventKind, eventKinds } from './event-kind.ts';
export type { Write } from './write.ts';
