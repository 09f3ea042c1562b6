export { hasLifecycleConditions } from './conditions.ts';
export { emptyRecord, holdersIn, writeHoldRecord } from './hold-record.ts';
