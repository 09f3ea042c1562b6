export {
  etcdAllows,
  etcdGuardName,
  etcdNamespace,
  guardVerdict,
  namedGuardAllows,
} from './etcd-guard.ts';
export {
  allowQuorumLossAnnotation,
  isControlPlane,
  isWarnedOnly,
  mayLoseQuorum,
  memberLabels,
  membersOf,
  type QuorumRule,
  quorumAllows,
  quorumMessage,
} from './quorum.ts';
