export type { ApiRequest, Response, WatchEvent } from './message.ts';
export { protobufType } from './protobuf-body.ts';
