export { protobufType } from './body.ts';
export type { ApiRequest, Response, WatchEvent } from './message.ts';
