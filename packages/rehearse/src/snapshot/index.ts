export {
  type ClusterSnapshot,
  type CopiedKind,
  copiedKinds,
  ofKind,
  pathOfKind,
} from './cluster-snapshot.ts';
export { readCopy, SnapshotError, writeCopy } from './files.ts';
export { type Kept, only } from './kept.ts';
export { Shared } from './share.ts';
export { takeCopy } from './take.ts';
export { redacted, trimmedBy } from './trim.ts';
