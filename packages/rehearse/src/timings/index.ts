export { learnWork } from './work.ts';
