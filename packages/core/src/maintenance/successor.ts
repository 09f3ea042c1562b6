import type { JsonObject, LabelSelector } from '@drydock/apimachinery';
import { fitsSelector, joinLimited, placementOf, untoleratedBy } from '@drydock/apimachinery';
import { isReady, type Node } from '../node/node.ts';
import { isFinished, isTerminating, type Pod, readPod } from '../pod/pod.ts';

/**
 * Decides whether another pod can do the operator's work once its own pod is gone. Only an operator
 * releases a hold: where none can run any more, only a person could.
 */

/** A pod of the operator, and the nodes on which its spec allows it to run. */
export type OperatorPod = Pod & { readonly placement: JsonObject };

const [label, name] = ['app.kubernetes.io/name', 'drydock'];

/** Selector for the pods of the operator, in its namespace. */
export const operatorSelector: LabelSelector = { matchLabels: { [label]: name } };

/** Query of a list with the same selector. */
export const operatorPods = { labelSelector: `${label}=${name}` } as const;

export function readOperatorPod(raw: unknown): OperatorPod {
  return {
    ...readPod(raw),
    placement: placementOf((raw as { readonly spec?: JsonObject }).spec ?? {}),
  };
}

/** Facts about where the operator can run. */
export type OperatorView = {
  /** All pods of the operator; missing without read permission. */
  readonly pods?: readonly OperatorPod[];
  readonly nodes: readonly Node[];
  /**
   * Names of nodes that maintenances want or will want: a pod that goes there would have to leave
   * again.
   */
  readonly wanted: ReadonlySet<string>;
  /** uids of pods that are being evicted, as far as known before the watch delivers it. */
  readonly leaving?: ReadonlySet<string>;
};

/** Successor that does the work when a pod of the operator leaves. */
export type Successor =
  /** Another replica runs elsewhere, or a node has room for one. */
  | { readonly kind: 'runs' | 'fits' }
  /**
   * Another replica exists and does not run yet; or no replica can run. `why` is a clause about
   * other pods and nodes.
   */
  | { readonly kind: 'coming' | 'none'; readonly why: string; readonly remedy: string };

/**
 * Reasons why a node cannot take the pod, and their remedies. In this order: the last is the
 * nearest to taking it.
 */
const obstacles: readonly {
  readonly is: (node: Node, pod: OperatorPod, view: OperatorView) => boolean;
  readonly text: string;
  readonly remedy: (node: string) => string;
}[] = [
  {
    is: ({ name, labels }, { placement }) => !fitsSelector(placement, { name, labels }),
    text: 'not picked by its node selector or affinity',
    remedy: node =>
      `add a node that may run it, or let the nodeSelector and affinity of its Deployment pick node ${node}`,
  },
  {
    is: ({ deleting }) => deleting,
    text: 'being deleted',
    remedy: () => 'add a node that may run it',
  },
  {
    is: node => !isReady(node),
    text: 'not Ready',
    remedy: node => `repair it: kubectl describe node ${node}`,
  },
  {
    is: ({ name, holdRecord }, _pod, { wanted }) => holdRecord !== undefined || wanted.has(name),
    text: 'in maintenance or about to be',
    remedy: node => `end the other maintenance first: drydock release ${node}`,
  },
  {
    is: ({ unschedulable }) => unschedulable,
    text: 'cordoned',
    remedy: node => `kubectl uncordon ${node}`,
  },
  {
    is: ({ taints }, { placement }) => keepingTaints(taints, placement).length > 0,
    text: 'tainted with what it does not tolerate',
    remedy: node =>
      `let its Deployment tolerate the taints of the node: kubectl describe node ${node}`,
  },
];

function keepingTaints(taints: Node['taints'], placement: JsonObject): Node['taints'] {
  return untoleratedBy(placement, taints).filter(({ effect }) => effect !== 'PreferNoSchedule');
}

function clause(names: readonly string[], text: string): string {
  return `${joinLimited(names, 3)} ${names.length === 1 ? 'is' : 'are'} ${text}`;
}

/**
 * Returns why no node can take a pod like this one, its own node left out; undefined if a node can.
 * Pods of higher priority make room, so the load of the nodes is not considered.
 */
function noPlace(
  pod: OperatorPod,
  view: OperatorView,
): { readonly why: string; readonly remedy: string } | undefined {
  const kept = obstacles.map((): string[] => []);
  for (const node of view.nodes) {
    if (node.name === pod.nodeName) continue;
    const found = obstacles.findIndex(({ is }) => is(node, pod, view));
    if (found === -1) return undefined;
    kept[found]?.push(node.name);
  }
  const whys = obstacles.flatMap(({ text }, index) =>
    kept[index]?.length ? [clause(kept[index].toSorted(), text)] : [],
  );
  if (whys.length === 0)
    return { why: 'there is no other node', remedy: 'add a node that may run it' };
  const nearest = obstacles.findLastIndex((_, index) => kept[index]?.length);
  return {
    why: whys.join(', '),
    remedy: obstacles[nearest]?.remedy(kept[nearest]?.toSorted()[0] ?? '') ?? '',
  };
}

function described({ namespace, name }: Pod): string {
  return `kubectl -n ${namespace} describe pod ${name}`;
}

/**
 * Reports whether the pod can do the work. Mirror pods prove nothing: kubelets create them in any
 * namespace, with any label.
 */
function isReplica(pod: Pod): boolean {
  return !pod.mirror && !isTerminating(pod) && !isFinished(pod);
}

/** Returns the successor of this pod of the operator. Unknown facts count as no successor. */
export function successorOf(key: string, view: OperatorView): Successor {
  const namespace = key.slice(0, key.indexOf('/'));
  const own = view.pods?.find(pod => pod.key === key);
  if (view.pods === undefined || own === undefined) {
    const why =
      view.pods === undefined
        ? `the pods of namespace ${namespace} may not be read`
        : `it is not among ${operatorPods.labelSelector}`;
    const remedy =
      view.pods === undefined
        ? `let its account list and watch pods in namespace ${namespace}`
        : `kubectl -n ${namespace} label pod ${key.slice(namespace.length + 1)} ${operatorPods.labelSelector}`;
    return { kind: 'none', why: `that is not known, ${why}`, remedy };
  }
  const others = view.pods.filter(
    pod => pod.key !== key && isReplica(pod) && view.leaving?.has(pod.uid) !== true,
  );
  const elsewhere = others.filter(({ nodeName }) => nodeName !== '' && nodeName !== own.nodeName);
  if (elsewhere.some(({ ready }) => ready)) return { kind: 'runs' };
  const [starting] = elsewhere;
  if (starting !== undefined)
    return {
      kind: 'coming',
      why: `pod ${starting.key} on node ${starting.nodeName} is not ready`,
      remedy: described(starting),
    };
  const nowhere = noPlace(own, view);
  if (nowhere !== undefined) return { kind: 'none', ...nowhere };
  const [waiting] = others.filter(({ nodeName }) => nodeName === '');
  if (waiting === undefined) return { kind: 'fits' };
  return waiting.unschedulable === undefined
    ? { kind: 'coming', why: `pod ${waiting.key} has no node yet`, remedy: described(waiting) }
    : {
        kind: 'none',
        why: `the scheduler has none for pod ${waiting.key}: ${waiting.unschedulable}`,
        remedy: described(waiting),
      };
}

type NoSuccessor = Extract<Successor, { readonly why: string }>;

/** Returns the text for a drained node that the operator's own pod stays on. */
export function staysText(key: string, { why, remedy }: NoSuccessor): string {
  return `pod ${key} of the operator stays on the node, for no other node may run it (${why}): its kubelet starts it again with the node; delete neither the node nor its machine. What helps: ${remedy}`;
}

/** Extracts the same text from the message of a maintenance. */
export function stayIn(message: string): string | undefined {
  return /pod \S+ of the operator stays on the node, .*/.exec(message)?.[0];
}

/**
 * Returns the text about the operator's pod that would stay on this node if it were drained;
 * undefined if none would.
 */
export function stayingOn(nodeName: string, view: OperatorView): string | undefined {
  const own = view.pods?.find(pod => pod.nodeName === nodeName && isReplica(pod));
  const successor = own && successorOf(own.key, view);
  return own !== undefined && successor?.kind === 'none'
    ? staysText(own.key, successor)
    : undefined;
}
