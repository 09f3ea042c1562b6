import type { Node } from '../../hold/node.ts';
import { blanked, isBlank, type LeaseAnswer, mayRelease, requestLease } from '../../lease/lease.ts';
import { type LeaseName, leaseKey } from '../../request/request.ts';
import { isBefore, secondsAfter } from '../../time.ts';
import type { Write } from '../decision.ts';
import { isHeldAlready } from '../held.ts';
import type { Course, Standing, Step } from '../reconcile-context.ts';
import type { Problem } from '../report.ts';

/** Lost leases are asked for again after this many seconds, and given up after more than `allowedErrors` times (seed contract 3.1). */
const askAgainAfter = 5;
const allowedErrors = 3;

/** Nothing that others do with a lease goes unseen; this is the safety net, in seconds. */
const lookAgainAfter = 300;

const collection = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;

const leaseWrite = (name: LeaseName, answer: Extract<LeaseAnswer, { readonly body: unknown }>): Write => ({
  what: answer.state === 'create' ? 'create the node lease' : 'renew the node lease',
  method: answer.state === 'create' ? 'POST' : 'PATCH',
  ...(answer.state === 'update' && { style: 'merge' }),
  path: answer.state === 'create' ? collection(name.namespace) : `${collection(name.namespace)}/${encodeURIComponent(name.name)}`,
  body: answer.body,
  store: 'leases',
  announce: [],
});

/** Gives up the lease of a node that nobody holds any more; undefined when there is none, it is not ours, or it is given up already. */
export const leaseRelease = ({ picture }: Course, name: LeaseName): Write | undefined => {
  const lease = picture.leases.get(leaseKey(name));
  if (lease === undefined || !mayRelease(lease, name.holder)) return undefined;
  const common = {
    what: 'release the node lease',
    path: `${collection(name.namespace)}/${encodeURIComponent(name.name)}`,
    store: 'leases',
    announce: [],
  } as const;
  if (name.released === 'deleted') {
    return { ...common, method: 'DELETE', body: { preconditions: { uid: lease.uid, resourceVersion: lease.resourceVersion } } };
  }
  return isBlank(lease) ? undefined : { ...common, method: 'PATCH', style: 'merge', body: blanked(lease) };
};

/** It wants more of the node than to be announced, and has not given up for good. */
export const wantsNode = ({ request, failure, barred }: Standing): boolean =>
  request.stage !== 'Announce' && failure !== 'GivenBack' && !barred;

const notOurs = (message: string, errors: number): Problem => ({
  reason: 'LeaseHeldByOther',
  message: `failed to obtain a lease that is not owned by us : ${message} errorOnLeaseCount ${errors}`,
});

const lostForNow = (message: string, errors: number): Problem => ({
  reason: 'LeaseLost',
  message: `failed to extend a lease that used to be owned by us, incrementing error on lease count: ${message}, errorOnLeaseCount: ${errors}`,
});

const givenUp = (errors: number): Problem => ({
  reason: 'LeaseLost',
  message: `maintenance failed: lease could not be extended after ${errors} attempts`,
});

/** Somebody else has the lease. A node that we hold is kept for a few tries more, without draining; then it is given back. */
const refused = (standing: Standing, message: string, course: Course, node: Node): Standing => {
  const errors = standing.leaseErrors;
  if (standing.failure === 'LeaseLost') return { ...standing, problem: givenUp(errors) };
  if (!isHeldAlready(node, standing.request)) return { ...standing, problem: notOurs(message, errors) };
  if (errors > allowedErrors) return { ...standing, failure: 'LeaseLost', problem: givenUp(errors) };
  const due = course.leaseMissedAt === undefined || !isBefore(course.now, secondsAfter(course.leaseMissedAt, askAgainAfter));
  const counted = due ? errors + 1 : errors;
  return { ...standing, holds: true, leaseErrors: counted, problem: lostForNow(message, counted) };
};

/** The lease can be had: that it was lost once is over. */
const forgiven = ({ failure, ...standing }: Standing): Standing => ({
  ...standing,
  ...(failure !== undefined && failure !== 'LeaseLost' && { failure }),
});

/** The lease is on its way to us. A node that is held stays so meanwhile: it is not given back for the time of one write. */
const onItsWay = (standing: Standing, node: Node): Standing => ({ ...forgiven(standing), holds: isHeldAlready(node, standing.request) });

const granted = (standing: Standing): Standing => ({ ...forgiven(standing), granted: true, holds: true, leaseErrors: 0 });

type Found = { readonly standing: Standing; readonly write?: Write; readonly again?: Temporal.Instant; readonly missed: boolean };

const ask = (standing: Standing, course: Course, node: Node): Found => {
  const { picture, now } = course;
  const name = standing.request.dialect.lease(picture.nodeName);
  if (name === undefined) return { standing: granted(standing), missed: false };
  const lease = picture.leases.get(leaseKey(name));
  const answer = requestLease(lease, name, node, now, picture.terms);
  switch (answer.state) {
    case 'held':
      return { standing: granted(standing), again: answer.renewAt, missed: false };
    case 'create':
      return { standing: onItsWay(standing, node), write: leaseWrite(name, answer), missed: false };
    case 'update': {
      // A renewal in good time does not interrupt anything; taking a lease over has to be seen first.
      const running = lease?.holder === name.holder && isHeldAlready(node, standing.request);
      return { standing: running ? granted(standing) : onItsWay(standing, node), write: leaseWrite(name, answer), missed: false };
    }
    case 'foreign': {
      const next = refused(standing, answer.message, course, node);
      const recheck = next.holds ? secondsAfter(now, askAgainAfter) : secondsAfter(now, lookAgainAfter);
      const until = secondsAfter(answer.until, 1);
      return { standing: next, again: isBefore(until, recheck) ? until : recheck, missed: next.leaseErrors !== standing.leaseErrors };
    }
    default:
      return answer satisfies never;
  }
};

const differentPaths = (writes: readonly Write[]): readonly Write[] => [...new Map(writes.map(write => [write.path, write])).values()];

/**
 * The node belongs to the one who has its Lease; who works on nodes without asking for it is not a good neighbour. A request without it
 * waits, the others go on.
 */
export const lease: Step = course => {
  const { node } = course.picture;
  if (node === undefined) return { done: true, course };
  const found = course.standings.map(
    (standing): Found => (wantsNode(standing) ? ask(standing, course, node) : { standing, missed: false }),
  );
  const missed = found.some(one => one.missed);
  const anyHolds = found.some(({ standing }) => standing.holds && !standing.granted);
  const { leaseMissedAt, ...rest } = course;
  const missedAt = missed ? course.now : anyHolds ? leaseMissedAt : undefined;
  return {
    done: true,
    course: {
      ...rest,
      standings: found.map(({ standing }) => standing),
      writes: [...course.writes, ...differentPaths(found.flatMap(({ write }) => (write ? [write] : [])))],
      moments: [...course.moments, ...found.flatMap(({ again }) => (again ? [again] : []))],
      ...(missedAt && { leaseMissedAt: missedAt }),
    },
  };
};
