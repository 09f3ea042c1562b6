import type { Node } from '../../hold/node.ts';
import { etcdAllows, etcdNamespace } from '../../quorum/etcd-guard.ts';
import { isWarnedOnly, type Leave, mayLeave, quorumMessage } from '../../quorum/quorum.ts';
import { secondsAfter } from '../../time.ts';
import { markedByPredecessor } from '../held.ts';
import type { Standing, Step } from '../reconcile-context.ts';
import type { Picture, Quorum } from '../snapshot.ts';

/** The nodes of the quorum wake each other; this is the safety net, in seconds. */
const lookAgainAfter = 30;

type Refusal = { readonly message: string; readonly leave?: Extract<Leave, { readonly allowed: false }> };
type Answer = 'may go' | 'not known yet' | Refusal;

/** The rule of etcd's own operator first, then the arithmetic: each sees what the other cannot. */
const ask = (picture: Picture, { members, seats, etcdBudgets }: Quorum): Answer => {
  const { nodeName, pods } = picture;
  if (etcdBudgets !== undefined) {
    if (pods === undefined) return 'not known yet';
    const guardPods = pods.filter(({ namespace }) => namespace === etcdNamespace);
    const said = etcdAllows({ budgets: etcdBudgets, guardPods, nodeName });
    if (said.kind === 'unclear') return { message: `${quorumMessage(nodeName)}: ${said.why}` };
    if (said.kind === 'denied') return { message: quorumMessage(nodeName) };
  }
  const leave = mayLeave(nodeName, members, seats);
  return leave.allowed ? 'may go' : { message: leave.message, leave };
};

/** What the operator before us has taken out is out: nothing is gained by letting it wait. */
const isExempt = ({ request }: Standing, node: Node): boolean =>
  request.mayLoseQuorum || request.stage === 'Announce' || markedByPredecessor(node, request);

/** Its kind lets the node go all the same, and says what that costs. */
const isAccepted = ({ request }: Standing, { leave }: Refusal, { etcdBudgets }: Quorum): boolean =>
  leave !== undefined && isWarnedOnly(leave, request.dialect.quorum, etcdBudgets !== undefined);

const barred = (standing: Standing, node: Node, answer: Exclude<Answer, 'may go'>, known: Quorum): Standing => {
  if (isExempt(standing, node)) return standing;
  if (answer !== 'not known yet' && isAccepted(standing, answer, known)) return { ...standing, atStake: answer.leave?.stake ?? '' };
  if (answer === 'not known yet') return { ...standing, barred: true };
  return { ...standing, barred: true, problem: { reason: 'QuorumAtRisk', message: answer.message } };
};

/**
 * Never more members of the control plane's quorum are out than it can spare: asked again right before the node would be held, whatever
 * admission has let through. A node that is held already stays so.
 */
export const quorum: Step = course => {
  const { picture } = course;
  const { node } = picture;
  if (picture.quorum === undefined || node === undefined || node.before !== undefined) return { done: true, course };
  const answer = ask(picture, picture.quorum);
  if (answer === 'may go') return { done: true, course };
  const known = picture.quorum;
  const standings = course.standings.map(standing => barred(standing, node, answer, known));
  return { done: true, course: { ...course, standings, moments: [...course.moments, secondsAfter(course.now, lookAgainAfter)] } };
};
