export type { Pace } from './kubelets.ts';
export { graceOf, plus, requestsOf } from './node-info.ts';
