export { calendarOf, freezeAt, maxOpening, nextSpans, openNow, startOf } from './calendar.ts';
export {
  appliesTo,
  cronProblem,
  type MaintenanceWindow,
  minGap,
  type Opening,
  type Span,
  type WindowedKind,
  windowsPath,
} from './spans.ts';
