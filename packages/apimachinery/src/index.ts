export {
  at,
  isObject,
  isUid,
  items,
  type Json,
  type JsonObject,
  mergePatch,
  objects,
  own,
  part,
  sameJson,
  strings,
  text,
} from './json.ts';
export {
  fitsSelector,
  fitsTerm,
  fitsTerms,
  type Place,
  placementOf,
  tolerates,
  untoleratedBy,
} from './placement.ts';
export { isPrintable, printable, printableJson, printableLines } from './printable.ts';
export {
  amount,
  compareVersions,
  type Feature,
  type IntOrPercent,
  type KubernetesRelease,
  lacking,
  oldestTested,
  readRelease,
  resolveAmount,
  unavailableLimit,
} from './quantity.ts';
export {
  type LabelSelector,
  type Labels,
  matches,
  parseSelector,
  readSelector,
} from './selector.ts';
export {
  isMissing,
  pathSegment,
  type ReviewKind,
  reviewCall,
  reviewed,
  saysText,
  statusChange,
  statusMessage,
} from './status.ts';
export {
  joinLimited,
  joinRows,
  type KubeEvent,
  labelOf,
  maxRowLength,
  type ObjectReference,
  short,
  shortenedTo,
  truncate,
  truncatedName,
} from './text.ts';
export {
  earliest,
  instantAt,
  isBefore,
  latest,
  microTimeText,
  readTime,
  secondsAfter,
  secondsBetween,
  timeText,
} from './time.ts';
