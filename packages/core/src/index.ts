export { admissionRefusal } from './admission-refusal.ts';
export { type EventKind, eventKinds, type Write } from './write.ts';
