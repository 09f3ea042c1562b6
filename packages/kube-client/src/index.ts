export type {
  Api,
  ApiCall,
  ApiResponse,
  CachedObject,
  Change,
  Collection,
  CompleteList,
  Fence,
  Recorder,
  Watcher,
  WatchHandler,
} from './api.ts';
export { type Connection, type ConnectOptions, connect } from './connect.ts';
export { EventRecorder } from './events/events.ts';
export { ConnectionError } from './http/connection-error.ts';
export { pathTemplate } from './http/path-template.ts';
export type { StreamRequest, StreamResponse, Streams } from './http/transport.ts';
export { elect, leaseTimes } from './leader/leader.ts';
export { LeaseLock } from './leader/lease-lock.ts';
export { listAll } from './list-all.ts';
export { listPages } from './pager.ts';
export { serverRelease } from './server-release.ts';
export { vitalGet } from './vital-get.ts';
export { identify } from './watch/raw-object.ts';
export { reflectorWatcher } from './watch/reflector.ts';
export { ReflectorStore } from './watch/reflector-store.ts';
