export { type ReviewKind, reviewCall, reviewed } from './access-review.ts';
export { truncatedName } from './child-name.ts';
export { type IntOrPercent, resolveAmount, unavailableLimit } from './int-or-percent.ts';
export {
  at,
  isObject,
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
export type { KubeEvent, ObjectReference } from './kube-event.ts';
export {
  type Feature,
  type KubernetesRelease,
  lacking,
  oldestTested,
  readRelease,
} from './kubernetes-release.ts';
export { parseSelector } from './parse-selector.ts';
export { pathSegment } from './path-segment.ts';
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
export { amount } from './quantity.ts';
export { type LabelSelector, type Labels, matches, readSelector } from './selector.ts';
export { labelOf, short } from './short-hash.ts';
export { isMissing, saysText, statusChange, statusMessage } from './status.ts';
export { joinLimited, joinRows, maxRowLength, shortenedTo, truncate } from './text.ts';
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
export { isUid } from './uid.ts';
export { compareVersions } from './version.ts';
