import type { Node } from '../../hold/node.ts';
import type { Request, Start } from '../../request/request.ts';
import { isBefore, secondsAfter, timeText } from '../../time.ts';
import { atEndOf, type Calendar, calendarOf, expectedIn, freezeAt, nextSpans, openNow, startOf } from '../../window/calendar.ts';
import { appliesTo } from '../../window/window.ts';
import type { Course, Standing, Step } from '../reconcile-context.ts';
import type { Picture } from '../snapshot.ts';

/** How long a drain takes where nothing has been seen yet, in seconds. */
const guess = 900;

/** No opening is in sight: looked for again a day later, in seconds. */
const lookAgainAfter = 86_400;

const calendarFor = ({ windows }: Start, node: Node, picture: Picture): Calendar =>
  calendarOf(windows === 'Ignore' ? [] : picture.windows.filter(window => appliesTo(window, { kind: 'Maintenance', labels: node.labels })));

const expectedFor = ({ expectedSeconds }: Start, calendar: Calendar, { drainSeconds }: Picture): number =>
  expectedSeconds ?? expectedIn(calendar, drainSeconds, guess);

/** It has laid hands on the node. */
const hasBegun = ({ history }: Request): boolean =>
  history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced' && history.state !== 'Failed';

const never = (calendar: Calendar, longestSeconds: number, expected: number): string =>
  longestSeconds > 0
    ? `no opening of ${calendar.names.join(', ')} is long enough: ${Math.round(expected / 60)} min are expected, the longest is ${Math.round(longestSeconds / 60)} min`
    : `${calendar.names.join(', ')} will not be open in the next 400 days`;

type Found = { readonly standing: Standing; readonly moment?: Temporal.Instant };

const waiting = (standing: Standing, reason: string, message: string, moment: Temporal.Instant, startsAt?: Temporal.Instant): Found => ({
  standing: { ...standing, barred: true, problem: { reason, message }, ...(startsAt && { startsAt }) },
  moment,
});

/** Whether it may lay hands on the node now, and when else. */
const beforeStart = (standing: Standing, start: Start, calendar: Calendar, { picture, now }: Course): Found => {
  const expectedSeconds = expectedFor(start, calendar, picture);
  const begins = startOf(calendar, { ...start, expectedSeconds }, now);
  if (begins.kind === 'never') {
    return waiting(standing, 'NoOpening', never(calendar, begins.longestSeconds, expectedSeconds), secondsAfter(now, lookAgainAfter));
  }
  const { at, because } = begins;
  if (!isBefore(now, at)) return { standing };
  const frozen = freezeAt(calendar, now);
  const message = `begins at ${timeText(at)}`;
  if (frozen !== undefined) {
    const why = frozen.reason === undefined ? '' : ` (${frozen.reason})`;
    return waiting(standing, 'Frozen', `${message}: frozen until ${timeText(frozen.until)}${why}`, at, at);
  }
  if (because === 'anytime') return waiting(standing, 'NotYetDue', `${message}, as it asks to`, at, at);
  if (because === 'deadline') {
    return waiting(standing, 'WindowMissed', `${message}: no opening of ${calendar.names.join(', ')} comes before its deadline`, at, at);
  }
  return waiting(standing, 'MaintenanceWindow', `${message}, when ${calendar.names.join(', ')} allows it`, at, at);
};

/** What the end of the window means for a drain that is under way. One that has only its deadline to go by goes on. */
const whileUnderWay = (standing: Standing, start: Start, calendar: Calendar, { picture, now }: Course): Found => {
  const { history } = standing.request;
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || history.drainedAt !== undefined) return { standing };
  const open = openNow(calendar, now);
  if (open !== undefined) return { standing, moment: open.to };
  const pressing = start.deadline && secondsAfter(start.deadline, -expectedFor(start, calendar, picture));
  if (pressing !== undefined && !isBefore(now, pressing)) return { standing };
  const [next] = nextSpans(calendar, now, 1);
  const goesOn = next === undefined ? 'no opening is in sight' : `goes on at ${timeText(next.from)}`;
  const moment = next?.from ?? secondsAfter(now, lookAgainAfter);
  if (atEnd === 'GiveBack') {
    const message = `given back, because the window has closed: ${goesOn}`;
    const found = waiting(standing, 'WindowClosed', message, moment, next?.from);
    return { ...found, standing: { ...found.standing, restarts: true } };
  }
  const problem = { reason: 'WindowClosed', message: `paused, because the window has closed: ${goesOn}` };
  return { standing: { ...standing, paused: true, problem }, moment };
};

const look = (standing: Standing, node: Node, course: Course): Found => {
  const { request } = standing;
  const { start } = request;
  if (start === undefined || request.stage === 'Announce') return { standing };
  const calendar = calendarFor(start, node, course.picture);
  return hasBegun(request) ? whileUnderWay(standing, start, calendar, course) : beforeStart(standing, start, calendar, course);
};

/**
 * A maintenance begins when it may: not before the time that it names, and in an opening of the windows for its node that it can be expected to
 * end in. Kinds that know nothing of this begin at once.
 */
export const schedule: Step = course => {
  const { node } = course.picture;
  if (node === undefined) return { done: true, course };
  const found = course.standings.map(standing => look(standing, node, course));
  return {
    done: true,
    course: {
      ...course,
      standings: found.map(({ standing }) => standing),
      moments: [...course.moments, ...found.flatMap(({ moment }) => (moment ? [moment] : []))],
    },
  };
};
