import { joinRows, pathSegment } from '@drydock/apimachinery';
import { readMaintenanceWindow } from '@drydock/apis';
import { eventKinds } from '@drydock/core';
import { readNode } from '@drydock/core/node';
import { notServed } from '@drydock/core/request';
import {
  appliesTo,
  calendarOf,
  freezeAt,
  type MaintenanceWindow,
  nextSpans,
  openNow,
  type Span,
  type WindowedKind,
  windowsPath,
} from '@drydock/core/window';
import type { Api, Connection } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { refusedError } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { table } from './status-table.ts';

export type WindowsFlags = ConnectionFlags & {
  readonly count: string;
  readonly kind: WindowedKind;
  readonly output: 'table' | 'json';
};

/** State of one window, or of all windows of a node together. */
type Shown = {
  readonly name: string;
  readonly timeZone: string;
  readonly state: 'open' | 'closed' | 'frozen' | 'always open' | 'not readable';
  readonly until?: string;
  readonly why?: string;
  readonly openings: readonly { readonly from: string; readonly to: string }[];
};

/** Formats a time in the zone, with its offset. */
function local(instant: Temporal.Instant, timeZone: string): string {
  return instant
    .toZonedDateTimeISO(timeZone)
    .toString({ smallestUnit: 'minute', timeZoneName: 'never' });
}

function zoneOf(windows: readonly MaintenanceWindow[]): string {
  const zones = new Set(
    windows.filter(({ problem }) => problem === undefined).map(({ timeZone }) => timeZone),
  );
  const [zone = 'UTC'] = zones;
  return zones.size === 1 ? zone : 'UTC';
}

function stateOf(
  windows: readonly MaintenanceWindow[],
  now: Temporal.Instant,
  timeZone: string,
): Pick<Shown, 'state' | 'until' | 'why'> {
  const calendar = calendarOf(windows);
  const problem = windows.find(one => one.problem !== undefined)?.problem;
  const frozen = freezeAt(calendar, now);
  if (frozen !== undefined) {
    return {
      state: 'frozen',
      until: local(frozen.until, timeZone),
      ...(frozen.reason !== undefined && { why: frozen.reason }),
    };
  }
  const open = openNow(calendar, now);
  if (open === undefined)
    return problem === undefined ? { state: 'closed' } : { state: 'not readable', why: problem };
  if (calendar.always) return { state: 'always open' };
  return { state: 'open', until: local(open.to, timeZone) };
}

function shown(
  name: string,
  windows: readonly MaintenanceWindow[],
  count: number,
  now: Temporal.Instant,
): Shown {
  const timeZone = zoneOf(windows);
  const state = stateOf(windows, now, timeZone);
  const shownSpan = ({ from, to }: Span): { readonly from: string; readonly to: string } => ({
    from: local(from, timeZone),
    to: local(to, timeZone),
  });
  const openings =
    state.state === 'always open' ? [] : nextSpans(calendarOf(windows), now, count).map(shownSpan);
  return { name, timeZone, ...state, openings };
}

function rowsOf({
  name,
  timeZone,
  state,
  until,
  why,
  openings,
}: Shown): readonly (readonly string[])[] {
  const description = [
    until === undefined ? state : `${state} until ${until}`,
    ...(why === undefined ? [] : [`(${why})`]),
  ].join(' ');
  const [first, ...others] = openings.map(({ from, to }) => [from, to]);
  return [
    [name, timeZone, description, ...(first ?? ['-', '-'])],
    ...others.map(cells => ['', '', '', ...cells]),
  ];
}

function countOf(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 100)
    throw new UsageError(`invalid value "${text}" for --count: expected a number from 1 to 100`);
  return count;
}

async function nodeAt(api: Api, name: string) {
  const response = await api.call({
    method: 'GET',
    path: `/api/v1/nodes/${pathSegment(name)}`,
  });
  if (response.status !== 200) throw refusedError(response);
  return readNode(response.body);
}

async function collect(
  api: Connection,
  node: string | undefined,
  kind: WindowedKind,
  count: number,
): Promise<readonly Shown[]> {
  const windows = (await listAll(api, windowsPath, {}, 'empty')).map(readMaintenanceWindow);
  const now = api.clock.now();
  if (node === undefined) return windows.map(window => shown(window.name, [window], count, now));
  const { labels } = await nodeAt(api, node);
  const own = windows.filter(window => appliesTo(window, { kind, labels, eventKinds }));
  return [shown(own.length === 0 ? '-' : own.map(({ name }) => name).join(','), own, count, now)];
}

/**
 * `drydock windows [NODE]`: prints when maintenances may start, by window, or for one node by all
 * windows that apply to it. Times are in the window's zone; for several zones, in UTC.
 */
export async function windows(
  node: string | undefined,
  flags: WindowsFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const count = countOf(flags.count);
  await withCluster(flags, env, async api => {
    const all = await collect(api, node, flags.kind, count);
    if (flags.output === 'json') return printText(written({ windows: all }, 'json'));
    if (all.length > 0)
      return printText(
        joinRows(table([['WINDOW', 'ZONE', 'NOW', 'FROM', 'TO'], ...all.flatMap(rowsOf)])),
      );
    plainOutput.line('There is no MaintenanceWindow: maintenances begin at once.');
    if ((await api.call({ method: 'GET', path: windowsPath, query: { limit: 1 } })).status === 404)
      plainOutput.note(notServed);
  });
}
