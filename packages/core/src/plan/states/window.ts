import { secondsAfter, timeText } from '@drydock/apimachinery';
import { atEndOf, nextSpans, openNow } from '../../window/calendar.ts';
import type { AtEnd } from '../../window/window.ts';
import { calendarFor } from '../start/time-limits.ts';
import type { NodeView } from './common.ts';

/**
 * The end of a window for a node that the plan has begun with: no work begins outside of a window
 * whose `atEnd` forbids it.
 */

/** Seconds until the next look at windows, if no opening is known. */
const lookAgainAfter = 3600;

export type ClosedWindow = {
  readonly atEnd: Exclude<AtEnd, 'Continue'>;
  /** Text for people: since when, and until when. */
  readonly message: string;
  /** Time at which it goes on, or of the next look. */
  readonly until: Temporal.Instant;
};

/** Reports whether windows of the node pause drains at their end. */
export function pausesAtEnd({ snapshot, node }: NodeView): boolean {
  return node !== undefined && atEndOf(calendarFor({ snapshot }, [node.node])) === 'Pause';
}

/**
 * Returns the windows of the node that have closed since it began, and whether nodes whose work has
 * not begun wait or are released. Undefined: it goes on.
 */
export function closedWindow(
  { snapshot, node }: NodeView,
  now: Temporal.Instant,
): ClosedWindow | undefined {
  if (node === undefined) return undefined;
  const calendar = calendarFor({ snapshot }, [node.node]);
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || openNow(calendar, now) !== undefined) return undefined;
  const [next] = nextSpans(calendar, now, 1);
  const goesOn =
    next === undefined
      ? 'no opening is known'
      : `the next opening begins at ${timeText(next.from)}`;
  const message = `the window has closed before the work began (${calendar.names.join(', ')}): ${goesOn}`;
  return { atEnd, message, until: next?.from ?? secondsAfter(now, lookAgainAfter) };
}
