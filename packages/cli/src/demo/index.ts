export { type Demo, startDemo } from './demo.ts';
export { createDemoVms } from './vms.ts';
