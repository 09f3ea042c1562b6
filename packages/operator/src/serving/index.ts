export { serveEvents } from './event-intake.ts';
export { Guard } from './guard.ts';
export { type Address, listen, listenSecurely, parseAddress } from './server.ts';
