import type { LabelSelector, Labels } from '@drydock/apimachinery';
import type { Budget } from '../drain/budgets/budget.ts';
import type { Pod } from '../pod/pod.ts';

/**
 * Budget with which OpenShift's etcd operator guards its members (medik8s/common v1.17.0,
 * pkg/etcd).
 */

/** Namespace of etcd, its guard pods and their budget. */
export const etcdNamespace = 'openshift-etcd';

/** Name of the budget that KubeVirt's operator reads. */
export const etcdGuardName = 'etcd-quorum-guard';

/**
 * Verdict of the guard. `unclear`: the budget cannot be interpreted by the rule; the text is the
 * error of apimachinery's LabelSelectorAsMap.
 */
export type GuardVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'unclear'; readonly why: string }
  /**
   * The verdict depends on the guard pod of the node: the pods of `etcdNamespace` with these
   * labels.
   */
  | { readonly kind: 'checkPods'; readonly labels: Labels };

const allowed: GuardVerdict = { kind: 'allowed' };
const denied: GuardVerdict = { kind: 'denied' };

function refusal(operator: string, values: readonly string[]): string | undefined {
  switch (operator) {
    case 'In':
      if (values.length === 1) return undefined;
      return `operator "${operator}" without a single value cannot be converted into the old label selector format`;
    case 'NotIn':
    case 'Exists':
    case 'DoesNotExist':
      return `operator "${operator}" cannot be converted into the old label selector format`;
    default:
      return `"${operator}" is not a valid selector operator`;
  }
}

/**
 * Returns the labels of a selector. A missing selector matches every pod here, unlike everywhere
 * else.
 */
function equalities(selector: LabelSelector | undefined): Labels | string {
  const labels: Record<string, string> = { ...selector?.matchLabels };
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const problem = refusal(operator, values);
    if (problem !== undefined) return problem;
    labels[key] = values[0] ?? '';
  }
  return labels;
}

/**
 * Returns the verdict of the budgets of `etcdNamespace` alone: without exactly one, no node may go.
 */
export function guardVerdict(budgets: readonly Budget[]): GuardVerdict {
  const [budget, another] = budgets;
  if (budget === undefined || another !== undefined) return denied;
  if (budget.disruptionsAllowed >= 1) return allowed;
  const labels = equalities(budget.selector);
  return typeof labels === 'string'
    ? { kind: 'unclear', why: labels }
    : { kind: 'checkPods', labels };
}

/**
 * Decides whether etcd can do without the node: its budget allows a disruption, or the node has no
 * guard pod, or one that is not Ready, which makes it the disrupted one already. `budgets` and
 * `guardPods` are those of `etcdNamespace`; pods that the budget does not select do no harm.
 */
export function etcdAllows(seen: {
  readonly budgets: readonly Budget[];
  readonly guardPods: readonly Pod[];
  readonly nodeName: string;
}): Exclude<GuardVerdict, { readonly kind: 'checkPods' }> {
  const said = guardVerdict(seen.budgets);
  if (said.kind !== 'checkPods') return said;
  const wanted = Object.entries(said.labels);
  const guard = seen.guardPods.find(
    ({ nodeName, labels }) =>
      nodeName === seen.nodeName && wanted.every(([key, value]) => labels[key] === value),
  );
  return guard !== undefined && (guard.ready || guard.readyUnknown === true)
    ? { kind: 'denied' }
    : { kind: 'allowed' };
}

/**
 * Applies the rule of KubeVirt's operator: not allowed if `etcdGuardName` allows no disruption.
 * Without that budget everything is allowed.
 */
export function namedGuardAllows(budget: Budget | undefined): boolean {
  return budget === undefined || budget.disruptionsAllowed !== 0;
}
