export {
  type Api,
  type ApiCall,
  type ApiResponse,
  type CachedObject,
  type Change,
  type Collection,
  type CompleteList,
  type Fence,
  listAll,
  listPages,
  type Recorder,
  serverRelease,
  vitalGet,
  type Watcher,
  type WatchHandler,
} from './api.ts';
export { type Connection, type ConnectOptions, connect } from './connect.ts';
export { EventRecorder } from './events/events.ts';
export { ConnectionError } from './http/credentials.ts';
export { pathTemplate } from './http/exchange.ts';
export type { StreamRequest, StreamResponse, Streams } from './http/transport.ts';
export { elect, leaseTimes } from './leader/leader.ts';
export { LeaseLock } from './leader/lease-lock.ts';
export { reflectorWatcher } from './watch/reflector.ts';
export { identify, ReflectorStore } from './watch/reflector-store.ts';
