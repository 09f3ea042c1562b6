export { readCopy, Shared, SnapshotError, takeCopy, writeCopy } from './files.ts';
export {
  type ClusterSnapshot,
  type CopiedKind,
  copiedKinds,
  type Kept,
  ofKind,
  only,
  pathOfKind,
} from './kept.ts';
export { redacted, trimmedBy } from './kept-fields.ts';
