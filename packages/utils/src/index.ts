export { Backoff, randomLetters } from './backoff.ts';
export {
  AnswerTooLarge,
  boundConnections,
  boundedServer,
  boundedTlsServer,
  connectionLimits,
  createTransport,
  type ExchangeOptions,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
} from './bounded-server.ts';
export { type Clock, Deadline, orAborted, sleepBy, systemClock, VirtualClock } from './clock.ts';
export { columns, cutTo, displayWidth, padTo } from './columns.ts';
export type { Env } from './env.ts';
export { RankedQueue, Semaphore, TimerHeap } from './heap.ts';
export type { KeyPair } from './key-pair.ts';
export {
  type ControllerName,
  controllers,
  errorText,
  isDefect,
  type Log,
  type LogFields,
  PanicHandler,
  silentLog,
  UsageError,
} from './panic-handler.ts';
export {
  bareHost,
  checkedProxy,
  direct,
  environmentProxies,
  ProxyError,
  proxyFromEnvironment,
  throughProxy,
} from './proxy.ts';
