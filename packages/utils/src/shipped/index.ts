export { listShipped, readShipped } from './shipped.ts';
