export { Backoff } from './backoff.ts';
export { bareHost } from './bare-host.ts';
export {
  boundConnections,
  boundedServer,
  boundedTlsServer,
  connectionLimits,
} from './bounded-server.ts';
export { type Clock, systemClock } from './clock.ts';
export { columns, cutTo, displayWidth, padTo } from './columns.ts';
export { Deadline, orAborted } from './deadline.ts';
export type { Env } from './env.ts';
export { errorText } from './error-text.ts';
export {
  AnswerTooLarge,
  createTransport,
  type ExchangeOptions,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
} from './http-exchange.ts';
export type { KeyPair } from './key-pair.ts';
export { type Log, type LogFields, silentLog } from './log.ts';
export { type ControllerName, controllers, isDefect, PanicHandler } from './panic-handler.ts';
export {
  checkedProxy,
  direct,
  environmentProxies,
  ProxyError,
  proxyFromEnvironment,
  throughProxy,
} from './proxy.ts';
export { randomLetters } from './random.ts';
export { RankedQueue } from './ranked-queue.ts';
export { Semaphore } from './semaphore.ts';
export { sleepBy } from './sleep.ts';
export { TimerHeap } from './timer-heap.ts';
export { UsageError } from './usage-error.ts';
export { VirtualClock } from './virtual-clock.ts';
