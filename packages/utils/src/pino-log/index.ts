export { type LogFormat, pinoLog } from './pino-log.ts';
