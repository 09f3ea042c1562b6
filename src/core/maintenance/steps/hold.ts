import { beforeOfPredecessor, forgetChange, type HoldChange, holdChange, unite } from '../../hold/hold.ts';
import { type Before, holdersIn, isOutdated, nothingBefore, readBefore } from '../../hold/hold-record.ts';
import type { Node } from '../../hold/node.ts';
import { type Dialect, marksOf, type Request } from '../../request/request.ts';
import { secondsAfter } from '../../time.ts';
import type { Announcement, Write } from '../decision.ts';
import { markedByPredecessor } from '../held.ts';
import { announcement, type Course, nodeSubject, type Step } from '../reconcile-context.ts';
import type { Picture } from '../snapshot.ts';

/** An answer that is still under way is waited for this long, in seconds, before it is looked at again. */
const answerWithin = 1;

const assumedBefore = (node: Node, requests: readonly Request[]): Before => {
  const marks = requests.filter(request => markedByPredecessor(node, request)).map(({ dialect }) => dialect.marks('Drain'));
  return marks.length === 0 ? nothingBefore : beforeOfPredecessor(unite(marks));
};

/**
 * Kinds that hold the node, as its record says, and whose objects cannot be read at the moment because the cluster does not serve them:
 * their marks stay. A kind that is gone for good leaves its hold to be taken off by hand; one that is away for a moment must not cost a node
 * its hold.
 */
const missingHolders = (node: Node, { dialects, missingKinds }: Picture): readonly Dialect[] => {
  if (missingKinds.size === 0) return [];
  const kinds = holdersIn(node.before);
  return dialects.filter(({ name }) => missingKinds.has(name) && kinds.includes(name));
};

const component = 'drydock';

const lostText = (lost: readonly string[]): string =>
  `${lost.join(', ')} had been removed by somebody while the node is in maintenance; put back. Delete the maintenance to end it`;

const announcements = (node: Node, change: HoldChange, requests: readonly Request[], given: boolean): readonly Announcement[] => {
  const about = nodeSubject(node);
  const [request] = requests;
  const texts: Announcement[] = [];
  if (change.lost.length > 0) {
    texts.push({ type: 'Warning', reason: 'HoldRestored', message: lostText(change.lost), component, about });
  }
  if (!given || request === undefined) return texts;
  if (change.uncordons) texts.push(announcement(request, 'Normal', request.dialect.events.uncordoned, about));
  else if (node.unschedulable) {
    const message = 'Released a node; it stays cordoned, as it was before the maintenance';
    texts.push({ type: 'Normal', reason: 'NodeReleased', message, component, about });
  }
  return texts;
};

/** Said once, when the node is held for the first time. */
const stakes = ({ standings }: Course, node: Node): readonly Announcement[] =>
  standings.flatMap(({ request, holds, atStake }) =>
    holds && atStake !== undefined && node.before === undefined
      ? [announcement(request, 'Warning', { reason: 'QuorumAtRisk', message: atStake })]
      : [],
  );

const holdWrite = (node: Node, change: HoldChange, requests: readonly Request[], given: boolean): Write => ({
  what: given ? 'give the node back' : change.lost.length > 0 ? 'restore the hold' : 'hold the node',
  method: 'PATCH',
  style: 'merge',
  path: `/api/v1/nodes/${encodeURIComponent(node.name)}`,
  body: change.patch,
  store: 'nodes',
  announce: announcements(node, change, requests, given),
});

/** Evictions that have been sent cannot be called back: the node is not given back before they are answered. */
const underWay = ({ picture }: Course): boolean =>
  picture.flights.some(({ nodeName, state }) => nodeName === picture.nodeName && state === 'sent');

/** Nobody is there who could want the node, and somebody has given it back already: only the record is left to go. */
const isGivenBackByOthers = (node: Node, course: Course): boolean =>
  course.picture.requests.length === 0 &&
  isOutdated(readBefore(node.before, marksOf(course.picture.dialects)) ?? nothingBefore, node.taints);

const changeOf = (node: Node, course: Course, holders: readonly Request[], missing: readonly Dialect[]): HoldChange | undefined => {
  if (missing.length === 0 && isGivenBackByOthers(node, course)) return forgetChange(node);
  const wanted = unite([...holders.map(({ dialect, stage }) => dialect.marks(stage)), ...missing.map(({ marks }) => marks('Drain'))]);
  const kinds = [...holders.map(({ dialect }) => dialect), ...missing].map(({ name }) => name);
  return holdChange(node, wanted, { marks: marksOf(course.picture.dialects), kinds, assumed: assumedBefore(node, requestsOf(course)) });
};

const requestsOf = ({ standings, leaving }: Course): readonly Request[] => [...standings.map(({ request }) => request), ...leaving];

/**
 * One write puts on the node what all requests together want, takes off what none of them wants any more, and puts back what somebody
 * else has removed. Nothing that comes after happens before the result has been seen.
 */
export const hold: Step = course => {
  const { node } = course.picture;
  if (node === undefined) return { done: true, course };
  const holders = course.standings.filter(({ holds }) => holds).map(({ request }) => request);
  const missing = missingHolders(node, course.picture);
  const change = changeOf(node, course, holders, missing);
  if (change === undefined) return { done: true, course };
  const given = holders.length === 0 && missing.length === 0;
  if (given && underWay(course)) {
    return { done: false, course: { ...course, moments: [...course.moments, secondsAfter(course.now, answerWithin)] } };
  }
  const write = holdWrite(node, change, given ? requestsOf(course) : holders, given);
  const warned = { ...write, announce: [...stakes(course, node), ...write.announce] };
  return { done: false, course: { ...course, writes: [...course.writes, warned] } };
};
