export { serveEvents } from './event-intake.ts';
export { Guard } from './guard.ts';
export { type Metrics, metrics } from './metrics.ts';
export { type Address, listen, listenSecurely, type Page, parseAddress } from './server.ts';
