import type { KubeEvent } from '@drydock/apimachinery';
import { pathSegment, timeText } from '@drydock/apimachinery';
import type { PodCall } from '@drydock/core/drain';
import { evictionRequestOf, evictionRequestsIn } from '@drydock/core/drain';
import type { ApiCall } from '@drydock/kube-client';

/**
 * Milliseconds until an eviction times out. The API server retries a lost race for the budget for
 * up to ten seconds.
 */
const evictionTimeoutMs = 45_000;

function podPath({ pod }: PodCall): string {
  return `/api/v1/namespaces/${pathSegment(pod.namespace)}/pods/${pathSegment(pod.name)}`;
}

/**
 * Returns the delete options, always with the pod's uid: a successor of the same name is never
 * deleted.
 */
function deleteOptions({ pod, gracePeriodSeconds }: PodCall): object {
  return {
    preconditions: { uid: pod.uid },
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
  };
}

function eviction(call: PodCall): ApiCall {
  return {
    method: 'POST',
    path: `${podPath(call)}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: call.pod.name, namespace: call.pod.namespace },
      deleteOptions: deleteOptions(call),
    },
    priority: 'bulk',
    timeoutMs: evictionTimeoutMs,
  };
}

function deletion(call: PodCall): ApiCall {
  return {
    method: 'DELETE',
    path: podPath(call),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', ...deleteOptions(call) },
    priority: 'bulk',
    timeoutMs: evictionTimeoutMs,
  };
}

/** Returns the call that makes the pod leave, or that requests it from its responders. */
export function podCall(call: PodCall): ApiCall {
  const { pod, method, requestFor } = call;
  if (requestFor !== undefined)
    return {
      method: 'POST',
      path: evictionRequestsIn(pod.namespace),
      body: evictionRequestOf(pod, requestFor),
      priority: 'bulk',
    };
  return method === 'evict' ? eviction(call) : deletion(call);
}

const deadline = {
  reason: 'DeletedPastDeadline',
  mark: 'DrydockDeadline',
  text: 'Deleted past its budgets: the deadline of the drain has passed, and the policy says so',
};

const shutDown = {
  reason: 'VirtualMachineShutDown',
  mark: 'DrydockShutDown',
  text: 'Its VM is shut down: it cannot be migrated, and the policy of the drain says so',
};

/**
 * Returns what precedes a deletion by the ladder: the DisruptionTarget condition (KEP-3329), and an
 * event.
 */
export function escalation(
  call: PodCall,
  nodeName: string,
  now: Temporal.Instant,
): { readonly mark: ApiCall; readonly note: KubeEvent } {
  const { pod, shutsDownVm, overrulesResponder } = call;
  const { reason, mark, text: usual } = shutsDownVm ? shutDown : deadline;
  const text =
    overrulesResponder === undefined
      ? usual
      : `${usual}; the responder ${overrulesResponder} is overruled`;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: mark,
    message: text,
    lastTransitionTime: timeText(now),
  };
  return {
    mark: {
      method: 'PATCH',
      path: `${podPath(call)}/status`,
      contentType: 'application/strategic-merge-patch+json',
      body: { metadata: { uid: pod.uid }, status: { conditions: [condition] } },
    },
    note: {
      type: 'Warning',
      reason,
      message: `${text} (node ${nodeName})`,
      component: 'drydock',
      about: {
        apiVersion: 'v1',
        kind: 'Pod',
        namespace: pod.namespace,
        name: pod.name,
        uid: pod.uid,
      },
    },
  };
}
