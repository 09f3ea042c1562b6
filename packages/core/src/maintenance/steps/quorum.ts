import { secondsAfter } from '@drydock/apimachinery';
import type { Node } from '../../node/node.ts';
import { etcdAllows, etcdNamespace } from '../../quorum/etcd-guard.ts';
import {
  isWarnedOnly,
  type QuorumVerdict,
  quorumAllows,
  quorumMessage,
} from '../../quorum/quorum.ts';
import { markedByPredecessor } from '../held.ts';
import type { ReconcileStep, RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot, Quorum } from '../snapshot.ts';

/** Seconds until the next look, as a safety net: the nodes of the quorum wake each other. */
const lookAgainAfter = 30;

type QuorumRefusal = {
  readonly message: string;
  readonly leave?: Extract<QuorumVerdict, { readonly allowed: false }>;
};
type Answer = 'allowed' | 'unknown' | QuorumRefusal;

/**
 * Applies the rule of etcd's own operator first, then the arithmetic: each sees facts that the
 * other cannot.
 */
function ask(snapshot: NodeSnapshot, { members, seats, etcdBudgets }: Quorum): Answer {
  const { nodeName, pods } = snapshot;
  if (etcdBudgets !== undefined) {
    if (pods === undefined) return 'unknown';
    const guardPods = pods.filter(({ namespace }) => namespace === etcdNamespace);
    const said = etcdAllows({ budgets: etcdBudgets, guardPods, nodeName });
    if (said.kind === 'unclear') return { message: `${quorumMessage(nodeName)}: ${said.why}` };
    if (said.kind === 'denied') return { message: quorumMessage(nodeName) };
  }
  const leave = quorumAllows(nodeName, members, seats);
  return leave.allowed ? 'allowed' : { message: leave.message, leave };
}

/**
 * Reports whether the quorum rule is skipped. A node that the previous operator has taken out is
 * out: a wait gains nothing.
 */
function isExempt({ request }: RequestProgress, node: Node): boolean {
  return (
    request.mayLoseQuorum || request.level === 'Announce' || markedByPredecessor(node, request)
  );
}

/** Reports whether the kind of the request allows the loss, and reports only its cost. */
function isAccepted(
  { request }: RequestProgress,
  { leave }: QuorumRefusal,
  { etcdBudgets }: Quorum,
): boolean {
  return (
    leave !== undefined && isWarnedOnly(leave, request.adapter.quorum, etcdBudgets !== undefined)
  );
}

function barred(
  progress: RequestProgress,
  node: Node,
  answer: Exclude<Answer, 'allowed'>,
  known: Quorum,
): RequestProgress {
  if (isExempt(progress, node)) return progress;
  if (answer !== 'unknown' && isAccepted(progress, answer, known))
    return { ...progress, atStake: answer.leave?.stake ?? '' };
  if (answer === 'unknown') return { ...progress, barred: true };
  return {
    ...progress,
    barred: true,
    problem: { reason: 'QuorumAtRisk', message: answer.message },
  };
}

/**
 * Keeps at most as many members of the control plane's quorum out as it can spare: checked right
 * before the hold, regardless of admission. A node that is held already stays so.
 */
export const quorum: ReconcileStep = context => {
  const { snapshot } = context;
  const { node } = snapshot;
  if (snapshot.quorum === undefined || node === undefined || node.holdRecord !== undefined)
    return { done: true, context };
  const answer = ask(snapshot, snapshot.quorum);
  if (answer === 'allowed') return { done: true, context };
  const known = snapshot.quorum;
  const progresses = context.progresses.map(progress => barred(progress, node, answer, known));
  return {
    done: true,
    context: {
      ...context,
      progresses,
      moments: [...context.moments, secondsAfter(context.now, lookAgainAfter)],
    },
  };
};
