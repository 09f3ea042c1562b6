import { secondsAfter } from '@drydock/apimachinery';
import type { WantedConditions } from '../../hold/hold-record.ts';
import type { Node } from '../../node/node.ts';
import {
  etcdAllows,
  etcdNamespace,
  isWarnedOnly,
  type QuorumVerdict,
  quorumAllows,
  quorumMessage,
} from '../../quorum/quorum.ts';
import type { MaintenanceState } from '../../request/request.ts';
import { markedByPredecessor } from '../decision.ts';
import type { ReconcileStep, RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot, Quorum } from '../snapshot.ts';
import type { Reported } from './report.ts';

/** Seconds until the next look, as a safety net: the nodes of the quorum wake each other. */
const lookAgainAfter = 30;

type QuorumRefusal = {
  readonly message: string;
  readonly leave?: Extract<QuorumVerdict, { readonly allowed: false }>;
};
type StakeVerdict = 'allowed' | 'unknown' | QuorumRefusal;

/**
 * Applies the rule of etcd's own operator first, then the arithmetic: each sees facts that the
 * other cannot.
 */
function stakeVerdict(
  snapshot: NodeSnapshot,
  { members, seats, etcdBudgets }: Quorum,
): StakeVerdict {
  const { nodeName, pods } = snapshot;
  if (etcdBudgets !== undefined) {
    if (pods === undefined) return 'unknown';
    const guardPods = pods.filter(({ namespace }) => namespace === etcdNamespace);
    const verdict = etcdAllows({ budgets: etcdBudgets, guardPods, nodeName });
    if (verdict.kind === 'unclear')
      return { message: `${quorumMessage(nodeName)}: ${verdict.why}` };
    if (verdict.kind === 'denied') return { message: quorumMessage(nodeName) };
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
  verdict: Exclude<StakeVerdict, 'allowed'>,
  known: Quorum,
): RequestProgress {
  if (isExempt(progress, node)) return progress;
  if (verdict !== 'unknown' && isAccepted(progress, verdict, known))
    return { ...progress, atStake: verdict.leave?.stake ?? '' };
  if (verdict === 'unknown') return { ...progress, barred: true };
  return {
    ...progress,
    barred: true,
    problem: { reason: 'QuorumAtRisk', message: verdict.message },
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
  const verdict = stakeVerdict(snapshot, snapshot.quorum);
  if (verdict === 'allowed') return { done: true, context };
  const known = snapshot.quorum;
  const progresses = context.progresses.map(progress => barred(progress, node, verdict, known));
  return {
    done: true,
    context: {
      ...context,
      progresses,
      moments: [...context.moments, secondsAfter(context.now, lookAgainAfter)],
    },
  };
};

/**
 * Fails the requests of a node that does not exist, until it appears; requests that are being
 * deleted may go.
 */
export const missingNode: ReconcileStep = context => {
  const { node, nodeName } = context.snapshot;
  if (node !== undefined) return { done: true, context };
  return {
    done: true,
    context: {
      ...context,
      // A request of a machine maintenance reports nothing more: its node was meant to go.
      progresses: context.progresses
        .filter(({ request }) => request.part === undefined)
        .map(progress => ({
          ...progress,
          failure: 'NodeNotFound',
          problem: { reason: 'NodeNotFound', message: `nodes "${nodeName}" not found` },
        })),
    },
  };
};

type DrainedCondition = NonNullable<WantedConditions['Drained']>;

function say(status: 'True' | 'False', reason: string, message: string): DrainedCondition {
  return { status, reason, message };
}

function ownersOf(reported: readonly Reported[]): string {
  return reported
    .map(({ progress }) => progress.request)
    .map(
      ({ adapter, name, reason }) =>
        `${adapter.kind} ${name}${reason === undefined || reason === '' ? '' : ` (${reason})`}`,
    )
    .join(', ')
    .slice(0, 1000);
}

const draining: readonly MaintenanceState[] = ['Draining', 'Detaching'];

/**
 * Returns the two conditions on the drain, as in kubectl's alpha table: in progress True/False,
 * complete False/True, given up False/False.
 */
function drainWords(states: readonly MaintenanceState[], owners: string): WantedConditions {
  if (states.some(state => draining.includes(state))) {
    return {
      DrainInProgress: say('True', 'DrydockDrainStarted', owners),
      Drained: say('False', 'DrydockDrainStarted', owners),
    };
  }
  if (states.includes('Drained')) {
    return {
      DrainInProgress: say('False', 'DrydockDrainCompleted', owners),
      Drained: say('True', 'DrydockDrainCompleted', owners),
    };
  }
  if (!states.includes('Failed')) return {};
  return {
    DrainInProgress: say('False', 'DrydockDrainFailed', owners),
    Drained: say('False', 'DrydockDrainFailed', owners),
  };
}

/**
 * Returns the wanted conditions of the node (KEP-5683), computed from the reports of its
 * maintenances. The node is held by the maintenances that hold it.
 */
export function lifecycleConditionsFor(reported: readonly Reported[]): WantedConditions {
  const holding = reported.filter(({ report }) => report.held);
  const planned = reported.filter(({ report }) => !report.held && report.state !== 'Failed');
  const states = holding.map(({ report }) => report.state);
  const atWork = states.some(state => state === 'Drained' || state === 'Cordoned');
  return {
    ...drainWords(states, ownersOf(holding)),
    ...(planned.length > 0 &&
      holding.length === 0 && {
        MaintenancePlanned: say('True', 'DrydockMaintenanceRequested', ownersOf(planned)),
      }),
    ...(atWork && {
      MaintenanceInProgress: say('True', 'DrydockMaintenanceHeld', ownersOf(holding)),
    }),
  };
}
