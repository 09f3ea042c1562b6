export { emptyRecord, hasLifecycleConditions, holdersIn, writeHoldRecord } from './hold-record.ts';
