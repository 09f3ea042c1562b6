import { at, type Stored, text } from '../object.ts';
import { ageOf } from './age.ts';

function first(event: Stored, now: Temporal.Instant): string {
  return ageOf(at(event, 'firstTimestamp') ?? at(event, 'eventTime'), now);
}

function last(event: Stored, now: Temporal.Instant): string {
  const series = at(event, 'series', 'lastObservedTime');
  if (series !== undefined) return ageOf(series, now);
  return at(event, 'lastTimestamp') === undefined
    ? first(event, now)
    : ageOf(at(event, 'lastTimestamp'), now);
}

function target(event: Stored): string {
  const kind = text(event, 'involvedObject', 'kind').toLowerCase();
  const name = text(event, 'involvedObject', 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function source(event: Stored): string {
  const component = text(event, 'source', 'component') || text(event, 'reportingComponent');
  const instance = text(event, 'source', 'host') || text(event, 'reportingInstance');
  return instance === '' ? component : `${component}, ${instance}`;
}

function times(event: Stored): number {
  const series = at(event, 'series', 'count');
  if (typeof series === 'number') return series;
  const count = at(event, 'count');
  return typeof count === 'number' && count > 0 ? count : 1;
}

/**
 * Cells of an event, in the order of its columns. Upstream: printEvent of
 * pkg/printers/internalversion.
 */
export const eventCells = [
  last,
  (event: Stored) => text(event, 'type'),
  (event: Stored) => text(event, 'reason'),
  target,
  (event: Stored) => text(event, 'involvedObject', 'fieldPath'),
  source,
  (event: Stored) => text(event, 'message').trim(),
  first,
  times,
  (event: Stored) => event.metadata.name,
] as const;
