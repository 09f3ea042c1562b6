import { readMaintenanceWindow } from '../../../apis/maintenance-window.ts';
import type { JsonObject } from '../../../core/json.ts';
import { planApi } from '../../../core/plan/plan.ts';

/** Windows of kured and of system-upgrade-controller, which read them by the same code (timewindow of kured): days, and two times of day. */

/** As they are written there. A field that is missing has been given its default by whoever asks. */
export type TimesOfDay = { readonly days: readonly string[]; readonly start: string; readonly end: string; readonly timeZone: string };

export type ImportedWindow = {
  readonly window: JsonObject;
  /** Why it never opens, or what is to be looked at. */
  readonly left?: string;
};

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

type Weekday = (typeof weekdays)[number];

/** `su`, `sun` and `sunday` in any case, and the numbers from 0 for Sunday. */
const weekdayOf = (day: string): Weekday | undefined => {
  const word = day.trim().toLowerCase();
  if (/^\d+$/.test(word)) return weekdays[Number(word)];
  return weekdays[names.findIndex(name => word === name || word === name.slice(0, 2) || word === name.slice(0, 3))];
};

const daySeconds = 86_400;

/** Seconds after midnight: `21:00`, `9:00`, `21:00:30`, `21`, `9pm`, `09pm` and `09:30pm`. Undefined for what they cannot read either. */
const secondsOf = (time: string): number | undefined => {
  const [, hour = '', minute = '0', second = '0', half] =
    /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?$/.exec(time) ?? /^(\d{1,2})(?::(\d\d))?()(am|pm)$/.exec(time) ?? [];
  const [hours, minutes, seconds] = [hour, minute, second || '0'].map(Number) as [number, number, number];
  if (hour === '' || minutes > 59 || seconds > 59 || hours > (half === undefined ? 23 : 12)) return undefined;
  const ofDay = half === undefined ? hours : (hours % 12) + (half === 'pm' ? 12 : 0);
  return ofDay * 3600 + minutes * 60 + seconds;
};

/** The last minute of the day is how theirs say until midnight. */
const lastMinute = daySeconds - 60;

type Piece = readonly [from: number, to: number];

/**
 * What of a day they are open in: the day of now counts. A window over midnight is open in the morning and in the evening of the days that it names, not in the
 * morning after them. Where it begins when it ends it is open for a moment, for which a minute stands.
 */
const piecesOf = (start: number, end: number): readonly Piece[] => {
  const minute = (seconds: number): number => Math.ceil(seconds / 60) * 60;
  const to = end >= lastMinute ? daySeconds : Math.floor(end / 60) * 60;
  if (start <= end) {
    const from = Math.min(minute(start), daySeconds - 60);
    return [[from, Math.max(to, from + 60)]];
  }
  const pieces: readonly Piece[] = [
    [0, to],
    [minute(start), daySeconds],
  ];
  return pieces.filter(([from, until]) => from < until);
};

const two = (value: number): string => String(value).padStart(2, '0');

const durationText = (seconds: number): string => (seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`);

const openingOf = (days: readonly Weekday[], [from, to]: Piece): JsonObject => ({
  weekdays: [...days],
  start: `${two(Math.floor(from / 3600))}:${two(Math.floor(from / 60) % 60)}`,
  duration: durationText(to - from),
});

/** Long over: with it a window has a say, and says no. */
const never: JsonObject = { from: '2000-01-01', to: '2000-01-02' };

const windowWith = (name: string, timeZone: string, openings: readonly JsonObject[]): JsonObject => ({
  apiVersion: planApi,
  kind: 'MaintenanceWindow',
  metadata: { name },
  spec: { kinds: ['MaintenancePlan'], ...(timeZone !== '' && { timeZone }), openings: [...openings] },
});

/**
 * A MaintenanceWindow for plans that is open at the times at which theirs are. Times that cannot be read, and none at all, make one that never opens, and are said:
 * a plan without a window would begin at any time.
 */
export const windowOf = (name: string, { days, start, end, timeZone }: TimesOfDay): ImportedWindow => {
  const closed = (why: string): ImportedWindow => ({
    window: windowWith(name, '', [never]),
    left: `${why}: MaintenanceWindow ${name} never opens until you write its openings`,
  });
  const named = days.map(weekdayOf);
  const [from, to] = [secondsOf(start), secondsOf(end)];
  const wrong = days.find((_day, index) => named[index] === undefined);
  if (wrong !== undefined) return closed(`the day "${wrong}" cannot be read`);
  if (named.length === 0) return closed('no day is named, and it is never open there');
  if (from === undefined || to === undefined) return closed(`the time "${from === undefined ? start : end}" cannot be read`);
  const open = weekdays.filter(day => named.includes(day));
  const window = windowWith(
    name,
    timeZone,
    piecesOf(from, to).map(piece => openingOf(open, piece)),
  );
  const { problem } = readMaintenanceWindow(window);
  if (problem !== undefined) return closed(problem);
  return from === to
    ? { window, left: `it begins when it ends: MaintenanceWindow ${name} is open for a minute, and nothing is done in that` }
    : { window };
};
