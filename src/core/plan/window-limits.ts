import type { Node } from '../hold/node.ts';
import { isBefore, timeText } from '../time.ts';
import { type Calendar, calendarOf, expectedIn, freezeAt, openingsAt, startOf } from '../window/calendar.ts';
import { appliesTo, type Span } from '../window/window.ts';
import type { Waiting } from './snapshot.ts';
import { longestSeen, startsOf } from './starts.ts';
import type { PlanView } from './view.ts';

/** Whether the windows let a node begin now. Nodes with the same windows have the same answer, which is found once. */

/** Seconds that a node takes, as long as this plan has seen none. */
const guess = 600;

/** The windows that have a say for this node. */
const calendarFor = ({ snapshot }: PlanView, { labels }: Pick<Node, 'labels'>): Calendar =>
  calendarOf(snapshot.windows.filter(window => appliesTo(window, { kind: 'MaintenancePlan', labels })));

const openLimit = (calendar: Calendar, expectedSeconds: number, now: Temporal.Instant): Waiting | undefined => {
  const start = startOf(calendar, { expectedSeconds }, now);
  const names = calendar.names.join(', ');
  if (start.kind === 'never') {
    return { word: 'WouldNotFit', who: `no opening of ${names} is long enough for the ${expectedSeconds} s that a node takes` };
  }
  if (!isBefore(now, start.at)) return undefined;
  const frozen = freezeAt(calendar, now);
  const who = frozen === undefined ? `${names} allows it at ${timeText(start.at)}` : `frozen until ${timeText(frozen.until)}`;
  return { word: frozen === undefined ? 'Window' : 'Frozen', who, ends: start.at };
};

/** How many nodes have begun within a span: one that has begun twice is one. */
const begunIn = ({ snapshot }: PlanView, { from, to }: Span): number =>
  new Set(startsOf(snapshot).flatMap(({ node, startedAt }) => (isBefore(startedAt, from) || !isBefore(startedAt, to) ? [] : node))).size;

/** No opening of any window has more starts than that: each of those that are open now is looked at by itself. */
const rateLimit = (view: PlanView, calendar: Calendar, expectedSeconds: number, now: Temporal.Instant): Waiting | undefined => {
  const { startsPerWindow: most } = view.snapshot.plan.concurrency;
  if (most === undefined || calendar.always) return undefined;
  const full = openingsAt(calendar, now).filter(opening => begunIn(view, opening) >= most);
  const last = full.toSorted((one, other) => Temporal.Instant.compare(one.to, other.to)).at(-1);
  if (last === undefined) return undefined;
  const who = `${begunIn(view, last)} nodes have begun since ${timeText(last.from)}, and concurrency.startsPerWindow allows ${most}`;
  const next = startOf(calendar, { expectedSeconds, notBefore: last.to }, now);
  return { word: 'Rate', who, ...(next.kind === 'at' && { ends: next.at }) };
};

/** What the windows say of each node. */
export const windowLimits = (view: PlanView, now: Temporal.Instant): ((node: Node) => Waiting | undefined) => {
  const { plan } = view.snapshot;
  if (plan.windows === 'Ignore') return () => undefined;
  const seen = longestSeen(view);
  const known = new Map<string, Waiting | undefined>();
  return node => {
    const calendar = calendarFor(view, node);
    if (calendar.windows.length === 0) return undefined;
    const key = calendar.names.join();
    if (known.has(key)) return known.get(key);
    const expectedSeconds = plan.expectedSeconds ?? expectedIn(calendar, seen, guess);
    const answer = openLimit(calendar, expectedSeconds, now) ?? rateLimit(view, calendar, expectedSeconds, now);
    known.set(key, answer);
    return answer;
  };
};
