export { bench, freshNode, freshPod } from './bench.ts';
export { fullObject } from './full-object.ts';
export { many } from './many.ts';
export { envelope, protobufOf } from './write-protobuf.ts';
