export { podCall } from './in-flight-evictions.ts';
