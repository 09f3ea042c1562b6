import { secondsAfter, timeText } from '../../time.ts';
import { atEndOf, nextSpans, openNow } from '../../window/calendar.ts';
import type { AtEnd } from '../../window/window.ts';
import { calendarFor } from '../start/time-limits.ts';
import type { NodeView } from './common.ts';

/** What the end of a window means for a node that the plan has begun with: no work begins outside of a window whose `atEnd` says so. */

/** Where no opening is known, windows are looked at again after so many seconds. */
const lookAgainAfter = 3600;

export type ClosedWindow = {
  readonly atEnd: Exclude<AtEnd, 'Continue'>;
  /** For people: since when, and until when. */
  readonly message: string;
  /** When it goes on, or what is to be looked at again. */
  readonly ends: Temporal.Instant;
};

/** Whether windows of the node have drains pause at their end. */
export const pausesAtEnd = ({ snapshot, node }: NodeView): boolean =>
  node !== undefined && atEndOf(calendarFor({ snapshot }, [node.node])) === 'Pause';

/** The windows of the node have closed since it was begun with, and say that what has not begun waits or is given back. Undefined: it goes on. */
export const closedWindow = ({ snapshot, node }: NodeView, now: Temporal.Instant): ClosedWindow | undefined => {
  if (node === undefined) return undefined;
  const calendar = calendarFor({ snapshot }, [node.node]);
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || openNow(calendar, now) !== undefined) return undefined;
  const [next] = nextSpans(calendar, now, 1);
  const goesOn = next === undefined ? 'no opening is known' : `the next opening begins at ${timeText(next.from)}`;
  const message = `the window has closed before the work began (${calendar.names.join(', ')}): ${goesOn}`;
  return { atEnd, message, ends: next?.from ?? secondsAfter(now, lookAgainAfter) };
};
