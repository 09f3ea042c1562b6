export { podCall } from './pod-calls.ts';
