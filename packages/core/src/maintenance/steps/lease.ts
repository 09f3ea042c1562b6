import { isBefore, pathSegment, secondsAfter } from '@drydock/apimachinery';
import {
  blanked,
  isBlank,
  type LeaseDecision,
  mayRelease,
  requestLease,
} from '../../lease/lease.ts';
import type { Node } from '../../node/node.ts';
import { type LeaseName, leaseKey, type Problem } from '../../request/request.ts';
import type { Write } from '../../write.ts';
import { isHeldAlready } from '../decision.ts';
import type { ReconcileContext, ReconcileStep, RequestProgress } from '../reconcile-context.ts';

/**
 * Seconds after which a lost lease is tried again; after more than `allowedErrors` times it is
 * given up (seed contract 3.1).
 */
const askAgainAfter = 5;
const allowedErrors = 3;

/**
 * Seconds until the next look, as a safety net: the watch delivers every change that others make to
 * a lease.
 */
const lookAgainAfter = 300;

function collection(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(namespace)}/leases`;
}

function leaseWrite(
  name: LeaseName,
  decision: Extract<LeaseDecision, { readonly body: unknown }>,
): Write {
  return {
    description: decision.state === 'create' ? 'create the node lease' : 'renew the node lease',
    method: decision.state === 'create' ? 'POST' : 'PATCH',
    ...(decision.state === 'update' && { style: 'merge' }),
    path:
      decision.state === 'create'
        ? collection(name.namespace)
        : `${collection(name.namespace)}/${pathSegment(name.name)}`,
    body: decision.body,
    cache: 'leases',
    events: [],
  };
}

/**
 * Returns the write that releases the lease of a node that no maintenance holds any more; undefined
 * if there is none, it belongs to another holder, or it is released already.
 */
export function leaseRelease({ snapshot }: ReconcileContext, name: LeaseName): Write | undefined {
  const lease = snapshot.leases.get(leaseKey(name));
  if (lease === undefined || !mayRelease(lease, name.holder)) return undefined;
  const common = {
    description: 'release the node lease',
    path: `${collection(name.namespace)}/${pathSegment(name.name)}`,
    cache: 'leases',
    events: [],
  } as const;
  if (name.released === 'deleted') {
    return {
      ...common,
      method: 'DELETE',
      body: { preconditions: { uid: lease.uid, resourceVersion: lease.resourceVersion } },
    };
  }
  return isBlank(lease)
    ? undefined
    : { ...common, method: 'PATCH', style: 'merge', body: blanked(lease) };
}

/** Reports whether the request wants more than to announce, and has not given up for good. */
export function wantsNode({ request, failure, barred }: RequestProgress): boolean {
  return request.level !== 'Announce' && failure !== 'Released' && !barred;
}

function notOurs(message: string, errors: number): Problem {
  return {
    reason: 'LeaseHeldByOther',
    message: `failed to obtain a lease that is not owned by us : ${message} errorOnLeaseCount ${errors}`,
  };
}

function lostForNow(message: string, errors: number): Problem {
  return {
    reason: 'LeaseLost',
    message: `failed to extend a lease that used to be owned by us, incrementing error on lease count: ${message}, errorOnLeaseCount: ${errors}`,
  };
}

function givenUp(errors: number): Problem {
  return {
    reason: 'LeaseLost',
    message: `maintenance failed: lease could not be extended after ${errors} attempts`,
  };
}

/**
 * Returns the progress while another holder has the lease. A node that we hold is kept for a few
 * more tries, without draining; then it is released.
 */
function refused(
  progress: RequestProgress,
  message: string,
  context: ReconcileContext,
  node: Node,
): RequestProgress {
  const errors = progress.leaseErrors;
  if (progress.failure === 'LeaseLost') return { ...progress, problem: givenUp(errors) };
  if (!isHeldAlready(node, progress.request))
    return { ...progress, problem: notOurs(message, errors) };
  if (errors > allowedErrors)
    return { ...progress, failure: 'LeaseLost', problem: givenUp(errors) };
  const due =
    context.leaseMissedAt === undefined ||
    !isBefore(context.now, secondsAfter(context.leaseMissedAt, askAgainAfter));
  const counted = due ? errors + 1 : errors;
  return { ...progress, holds: true, leaseErrors: counted, problem: lostForNow(message, counted) };
}

/** Clears an earlier loss of the lease, because the lease is available. */
function forgiven({ failure, ...progress }: RequestProgress): RequestProgress {
  return {
    ...progress,
    ...(failure !== undefined && failure !== 'LeaseLost' && { failure }),
  };
}

/**
 * Returns the progress while the lease is being acquired. A node that is held stays so: it is not
 * released for the duration of one write.
 */
function onItsWay(progress: RequestProgress, node: Node): RequestProgress {
  return {
    ...forgiven(progress),
    holds: isHeldAlready(node, progress.request),
  };
}

function granted(progress: RequestProgress): RequestProgress {
  return { ...forgiven(progress), granted: true, holds: true, leaseErrors: 0 };
}

type Found = {
  readonly progress: RequestProgress;
  readonly write?: Write;
  readonly requeueAt?: Temporal.Instant;
  readonly missed: boolean;
};

function leaseFor(progress: RequestProgress, context: ReconcileContext, node: Node): Found {
  const { snapshot, now } = context;
  const name = progress.request.adapter.lease(snapshot.nodeName);
  if (name === undefined) return { progress: granted(progress), missed: false };
  const lease = snapshot.leases.get(leaseKey(name));
  const decision = requestLease(lease, name, node, now, snapshot.terms);
  switch (decision.state) {
    case 'held':
      return { progress: granted(progress), requeueAt: decision.renewAt, missed: false };
    case 'create':
      return {
        progress: onItsWay(progress, node),
        write: leaseWrite(name, decision),
        missed: false,
      };
    case 'update': {
      // A timely renewal does not interrupt anything; a takeover of the lease has to be observed
      // first.
      const running = lease?.holder === name.holder && isHeldAlready(node, progress.request);
      return {
        progress: running ? granted(progress) : onItsWay(progress, node),
        write: leaseWrite(name, decision),
        missed: false,
      };
    }
    case 'foreign': {
      const next = refused(progress, decision.message, context, node);
      const recheck = next.holds
        ? secondsAfter(now, askAgainAfter)
        : secondsAfter(now, lookAgainAfter);
      const until = secondsAfter(decision.until, 1);
      return {
        progress: next,
        requeueAt: isBefore(until, recheck) ? until : recheck,
        missed: next.leaseErrors !== progress.leaseErrors,
      };
    }
    default:
      return decision satisfies never;
  }
}

function differentPaths(writes: readonly Write[]): readonly Write[] {
  return [...new Map(writes.map(write => [write.path, write])).values()];
}

/**
 * Acquires the Lease of the node. The node belongs to the holder of its Lease; to work on nodes
 * without it is not neighbourly. A request without the Lease waits, the others go on.
 */
export const lease: ReconcileStep = context => {
  const { node } = context.snapshot;
  if (node === undefined) return { done: true, context };
  const found = context.progresses.map(
    (progress): Found =>
      wantsNode(progress) ? leaseFor(progress, context, node) : { progress, missed: false },
  );
  const missed = found.some(one => one.missed);
  const anyHolds = found.some(({ progress }) => progress.holds && !progress.granted);
  const { leaseMissedAt, ...rest } = context;
  const missedAt = missed ? context.now : anyHolds ? leaseMissedAt : undefined;
  return {
    done: true,
    context: {
      ...rest,
      progresses: found.map(({ progress }) => progress),
      writes: [
        ...context.writes,
        ...differentPaths(found.flatMap(({ write }) => (write ? [write] : []))),
      ],
      moments: [
        ...context.moments,
        ...found.flatMap(({ requeueAt }) => (requeueAt ? [requeueAt] : [])),
      ],
      ...(missedAt && { leaseMissedAt: missedAt }),
    },
  };
};
