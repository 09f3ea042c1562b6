import type { PodDeparture } from '../simulate/record.ts';
import type { NodeForecast, RehearsalForecast } from './forecast.ts';
import { durationText } from './words.ts';

/**
 * The forecast as a time line: nodes as rows, held, draining and drained, a mark for each evicted
 * pod, and stuck nodes in red.
 */

/** Limits of rows and marks; no user reads more. */
const maxNodes = 60;
const maxMarks = 2000;

const [left, top, row, width, right] = [180, 64, 22, 640, 150];

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Colours for light and for dark pages. */
const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2933 }
  .paper { fill: #ffffff } .quiet { fill: #647381 } .title { font-size: 15px; font-weight: 600 }
  .grid { stroke: #d9e0e6 } .drain { fill: #e2a33c } .held { fill: #7fb59a } .stuck { fill: #d64545 } .mark { fill: #1f2933 } .again { fill: #7b4fc9 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e9ee } .paper { fill: #12181f } .quiet { fill: #94a3b1 } .grid { stroke: #2c3743 }
    .drain { fill: #b97f22 } .held { fill: #3f7d60 } .stuck { fill: #e25c5c } .mark { fill: #e4e9ee } .again { fill: #b79af0 }
  }`;

type Scale = { readonly endMs: number; readonly x: (ms: number) => number };

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Returns the scale: up to the last end, with a margin for nodes without one. */
function scaleOf({ nodes, typical: { leaves } }: RehearsalForecast): Scale {
  const ends = [
    ...nodes.map(({ end, beginsMs = 0 }) => end?.medianMs ?? beginsMs),
    ...leaves.map(({ atMs, goneMs = 0 }) => Math.max(atMs, goneMs)),
  ];
  const last = ends.reduce((most, one) => Math.max(most, one), 1000);
  const endMs = nodes.some(({ end }) => end === undefined) ? last * 1.15 : last;
  return { endMs, x: ms => round(left + (Math.min(ms, endMs) / endMs) * width) };
}

function box(kind: string, from: number, to: number, y: number, title: string): string {
  return `<rect class="${kind}" x="${from}" y="${y + 4}" width="${round(Math.max(1, to - from))}" height="${row - 8}" rx="3"><title>${escaped(title)}</title></rect>`;
}

function bars(
  { node, end, beginsMs = 0, otherwise }: NodeForecast,
  y: number,
  { x, endMs }: Scale,
): string {
  if (end === undefined)
    return box(
      otherwise === 'not reached' ? 'quiet' : 'stuck',
      x(beginsMs),
      x(endMs),
      y,
      `${node}: ${otherwise ?? 'stuck'}`,
    );
  const drained = `${node}: drained after ${durationText(end.medianMs)}`;
  return (
    box('drain', x(beginsMs), x(end.medianMs), y, drained) +
    box('held', x(end.medianMs), x(endMs), y, `${node}: drained and held`)
  );
}

function mark({ pod, atMs, goneMs, again }: PodDeparture, y: number, { x }: Scale): string {
  const gone = goneMs === undefined ? 'does not go' : `gone at ${durationText(goneMs)}`;
  const title = `${pod}: leaves at ${durationText(atMs)}, ${gone}${again ? ', moved again' : ''}`;
  return `<circle class="${again ? 'again' : 'mark'}" cx="${x(atMs)}" cy="${y + row / 2}" r="2.5"><title>${escaped(title)}</title></circle>`;
}

function note(
  forecast: RehearsalForecast,
  { node, end, otherwise }: NodeForecast,
  y: number,
): string {
  const blocked = forecast.blockers.filter(one => one.node === node).map(({ reason }) => reason);
  const label =
    end === undefined
      ? [...new Set(blocked)].slice(0, 2).join(', ') || (otherwise ?? 'stuck')
      : durationText(end.medianMs);
  return `<text x="${left + width + 8}" y="${y + 15}" class="${end === undefined ? 'stuck' : 'quiet'}">${escaped(label)}</text>`;
}

function ticks({ endMs, x }: Scale, bottom: number): string {
  return [0, 0.25, 0.5, 0.75, 1]
    .map(share => {
      const at = x(endMs * share);
      return `<line class="grid" x1="${at}" y1="${top}" x2="${at}" y2="${bottom}"/><text class="quiet" x="${at}" y="${top - 6}" text-anchor="middle">${durationText(endMs * share)}</text>`;
    })
    .join('');
}

function titleOf({ finishes, end, nodes, runs }: RehearsalForecast, done: string): string {
  const count = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  if (finishes && end !== undefined)
    return `${count} ${done} in ${durationText(end.medianMs)} (9 of 10 times within ${durationText(end.p90Ms)})`;
  const never = nodes.filter(({ drainedIn }) => drainedIn < runs).length;
  return `${never} of ${count} not ${done}`;
}

/** Returns the whole drawing. `rows` are the names of the rows with their contents. */
function drawing(title: string, scale: Scale, rows: readonly string[], more: number): string {
  const bottom = top + rows.length * row;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + width + right} ${bottom + (more > 0 ? 40 : 20)}" role="img">`,
    `<title>${escaped(title)}</title><style>${style}</style><rect class="paper" width="100%" height="100%"/>`,
    `<text class="title" x="16" y="26">${escaped(title)}</text>`,
    ticks(scale, bottom),
    ...rows,
    ...(more > 0
      ? [`<text class="quiet" x="16" y="${bottom + 22}">and ${more} more nodes</text>`]
      : []),
    '</svg>',
  ].join('\n');
}

function nameAt(name: string, y: number): string {
  return `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${escaped(name)}</text>`;
}

/** A bar of a picture: its end, and its latest end; without either, it never ends. */
export type Bar = {
  readonly name: string;
  readonly toMs?: number;
  readonly lateMs?: number;
  readonly label: string;
};

/** Returns bars with a common start, one below the other, as a self-contained SVG. */
export function barsPicture(title: string, bars: readonly Bar[]): string {
  const last = Math.max(1000, ...bars.map(({ toMs = 0, lateMs = 0 }) => Math.max(toMs, lateMs)));
  const endMs = bars.some(({ toMs }) => toMs === undefined) ? last * 1.15 : last;
  const x = (ms: number): number => round(left + (ms / endMs) * width);
  const rows = bars.map(({ name, toMs, lateMs = toMs ?? 0, label }, index) => {
    const y = top + index * row;
    const isLate = toMs !== undefined && lateMs > toMs;
    const bar =
      toMs === undefined
        ? box('stuck', x(0), x(endMs), y, label)
        : box('held', x(0), x(toMs), y, label);
    const late = isLate
      ? box('drain', x(toMs), x(lateMs), y, `9 of 10 times within ${durationText(lateMs)}`)
      : '';
    return `${nameAt(name, y)}${bar}${late}<text x="${left + width + 8}" y="${y + 15}" class="quiet">${escaped(label)}</text>`;
  });
  return drawing(title, { endMs, x }, rows, 0);
}

/**
 * Returns a self-contained SVG, readable on light and dark pages. Rows beyond the sixtieth are only
 * counted.
 */
export function forecastPicture(
  forecast: RehearsalForecast,
  done: 'drained' | 'done' = 'drained',
): string {
  // Stuck nodes come first: they must not be cut off.
  const ordered = forecast.nodes.toSorted(
    (one, other) => Number(one.end !== undefined) - Number(other.end !== undefined),
  );
  const shown = ordered.slice(0, maxNodes);
  const scale = scaleOf(forecast);
  const byNode = Map.groupBy(forecast.typical.leaves.slice(0, maxMarks), ({ node }) => node);
  const rows = shown.map((one, index) => {
    const y = top + index * row;
    const marks = (byNode.get(one.node) ?? []).map(leave => mark(leave, y, scale)).join('');
    return `${nameAt(one.node, y)}${bars(one, y, scale)}${marks}${note(forecast, one, y)}`;
  });
  return drawing(titleOf(forecast, done), scale, rows, ordered.length - shown.length);
}
