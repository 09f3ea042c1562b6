import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import type { EvictionPlan } from '../../../drain/plan.ts';
import type { Pod } from '../../../pod/pod.ts';
import type { RequestProgress } from '../../reconcile-context.ts';
import type { NodeSnapshot } from '../../snapshot.ts';
import { type Successor, staysText, successorOf } from '../../successor.ts';
import { about } from './progress.ts';
import type { DrainView } from './view.ts';

/**
 * The operator's own pod on the drained node: it leaves last, after handing over, and not at all
 * where no other pod could release the node later.
 */
type OwnPod = {
  readonly pod: string;
  readonly handedOver: boolean;
  readonly successor: Successor;
  /** Name of the same pod, if it is left on the node. */
  readonly stays?: string;
};

/** Returns the operator's own pod on this node; undefined if it runs on another node. */
export function ownPodOn({ self, pods, inFlight }: NodeSnapshot): OwnPod | undefined {
  if (self === undefined || pods?.some(({ key }) => key === self.pod) !== true) return undefined;
  const { pod, handedOver } = self;
  const successor = successorOf(pod, { ...self, leaving: new Set(inFlight.map(({ uid }) => uid)) });
  return { pod, handedOver, successor, ...(successor.kind === 'none' && { stays: pod }) };
}

/** Seconds after which a replica that does not become ready counts as a problem for a person. */
const readyWithin = 120;

function blockerOf(pod: Pod, successor: Successor): BlockerInfo {
  const waits = { reason: 'EarlierWave', pod: about(pod) } as const;
  if (successor.kind !== 'coming')
    return { ...waits, message: "is the operator's own pod: evicted once another replica leads" };
  const message = `is the operator's own pod; another replica is to run before it goes: ${successor.why}`;
  const lasting = { reason: 'TooFewHealthy', afterSeconds: readyWithin } as const;
  return { ...waits, message, remedy: `look at what it waits for: ${successor.remedy}`, lasting };
}

/**
 * Removes the eviction of the operator's own pod from the plan until another replica runs or can
 * run: the next leader sends it, and this one only if no replica has taken over.
 */
export function withoutOwn(
  planned: EvictionPlan,
  own: OwnPod | undefined,
): { readonly planned: EvictionPlan; readonly handOver: boolean } {
  const call = planned.calls.find(({ pod }) => pod.key === own?.pod);
  if (own === undefined || call === undefined) return { planned, handOver: false };
  const { successor, handedOver } = own;
  if (handedOver && successor.kind !== 'coming') return { planned, handOver: false };
  const calls = planned.calls.filter(one => one !== call);
  const blockerInfos = [...planned.blockerInfos, blockerOf(call.pod, successor)];
  return { planned: { ...planned, calls, blockerInfos }, handOver: successor.kind !== 'coming' };
}

/**
 * Returns the text about the operator's own pod if the drain of this request leaves it on the node.
 */
export function stayOf(
  { behaviors }: DrainView,
  own: OwnPod | undefined,
): Pick<RequestProgress, 'stays'> {
  return own?.successor.kind === 'none' &&
    behaviors.some(
      ({ behavior }) => behavior.behavior === 'ignore' && behavior.reason === 'LastOperator',
    )
    ? { stays: staysText(own.pod, own.successor) }
    : {};
}
