export { calendarOf, freezeAt, maxOpening, nextSpans, openNow, startOf } from './calendar.ts';
export { cronProblem, minGap } from './spans.ts';
export {
  appliesTo,
  type MaintenanceWindow,
  type Opening,
  type Span,
  type WindowedKind,
  windowsPath,
} from './window.ts';
