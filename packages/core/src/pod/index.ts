export {
  byKey,
  findsNoNode,
  isDaemonSetPod,
  isFinished,
  isTerminating,
  onNoNode,
  type Pod,
  readPod,
} from './pod.ts';
