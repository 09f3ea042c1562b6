/** Durations for people: k8s.io/apimachinery/pkg/util/duration. */

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns HumanDuration: at most two units, the second one only where the first is small. */
export function humanDuration(seconds: number): string {
  if (seconds < -1) return '<invalid>';
  const whole = Math.trunc(Math.max(seconds, 0));
  if (whole < 2 * minute) return `${whole}s`;
  const minutes = Math.trunc(whole / minute);
  if (minutes < 10) return withRest(minutes, 'm', whole % minute, 's');
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.trunc(whole / hour);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(whole / day);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`;
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;
}

/** Returns the duration since a time. */
export function ageOf(time: unknown, now: Temporal.Instant): string {
  if (typeof time !== 'string') return '<unknown>';
  return humanDuration(
    (now.epochMilliseconds - Temporal.Instant.from(time).epochMilliseconds) / 1000,
  );
}
