export { foresee, nodes } from './copied.ts';
