export { serveEvents } from './event-intake.ts';
export { type Address, Guard, listen, listenSecurely, parseAddress } from './server.ts';
