export type { Marks } from './marks.ts';
export {
  beforeAnnotation,
  conditionOf,
  isReady,
  type Node,
  type NodeCondition,
  readNode,
  type Taint,
  taintId,
  transitionTimeOf,
} from './node.ts';
