import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarOf, nextSpans, openNow, startOf } from '@drydock/core/window';
import { maintenanceWindowStatus, readMaintenanceWindow } from './maintenance-window.ts';

const now = Temporal.Instant.from('2026-11-22T10:00:00Z');

function read(spec: object) {
  return readMaintenanceWindow({
    metadata: {
      name: 'w',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec,
  });
}

function problemOf(opening: object): string {
  return read({ openings: [opening] }).problem ?? '';
}

test('a year of more than four digits is no time: such a window is never open, and says so', () => {
  const window = read({ freezes: [{ from: '2020-01-01', to: '+275760-09-13T00:00:00Z' }] });
  assert.match(
    window.problem ?? '',
    /^spec\.freezes\[0\]\.to: Invalid value: "\+275760-09-13T00:00:00Z": expected a time as/,
  );
  assert.match(
    problemOf({ from: '-271821-04-20T00:00:00Z', to: '2026-01-01' }),
    /^spec\.openings\[0\]\.from: Invalid value: /,
  );
  assert.equal(openNow(calendarOf([window]), now), undefined);
  const { status } = maintenanceWindowStatus(window, now);
  assert.match(JSON.stringify(status), /"reason":"NotReadable"/);
});

test('the last years that can be written are read, and looked at without a throw', () => {
  const window = read({
    openings: [{ from: '2020-01-01', to: '9999-12-31T23:59:59Z' }],
    freezes: [{ from: '0001-01-01', to: '2020-02-01' }],
  });
  assert.equal(window.problem, undefined);
  const { status, until } = maintenanceWindowStatus(window, now);
  assert.equal(status['open'], true);
  assert.equal(until?.toString(), '9999-12-31T23:59:59Z');
});

test('an opening that lasts longer than until its next beginning is refused; a day of 24 hours is not, whatever clocks do', () => {
  assert.match(
    problemOf({ cron: '* * * * *', duration: '4h' }),
    /^spec\.openings\[0\]\.duration is "4h", but it begins again after 60 s: make it no longer/,
  );
  assert.match(
    problemOf({ weekdays: ['Mon', 'Tue'], start: '22:00', duration: '48h' }),
    /begins again after 86400 s/,
  );
  for (const timeZone of ['UTC', 'Europe/Berlin', 'America/New_York']) {
    assert.equal(
      read({ timeZone, openings: [{ cron: '0 0 * * *', duration: '24h' }] }).problem,
      undefined,
    );
    assert.equal(
      read({
        timeZone,
        openings: [{ weekdays: ['Fri', 'Sat', 'Sun'], start: '18:00', duration: '24h' }],
      }).problem,
      undefined,
    );
  }
});

/** As many openings as the CRD allows, each as often as it may be. */
function largest(offset: number) {
  return read({
    timeZone: 'Europe/Berlin',
    openings: Array.from({ length: 64 }, (_, index) => ({
      cron: `${(index + offset) % 60} * * * *`,
      duration: '1m',
    })),
    freezes: Array.from({ length: 256 }, (_, index) => ({
      from: `2027-01-01T00:00:${String(index % 60).padStart(2, '0')}`,
      to: '2027-01-02',
    })),
  });
}

test('ten of the largest windows keep nobody waiting: what is looked at is bounded, and remembered', () => {
  const windows = Array.from({ length: 10 }, (_, index) => largest(index));
  const calendar = calendarOf(windows);
  const took = (work: () => void): number => {
    const since = process.cpuUsage();
    work();
    return process.cpuUsage(since).user / 1000;
  };
  const look = (): void => {
    nextSpans(calendar, now, 1);
    startOf(calendar, { expectedSeconds: 900 }, now);
  };
  // Time of this process, the quickest of three looks: what others take of the machine is not the
  // code's, but they slow it down.
  const first = Math.min(
    ...[0, 1, 2].map(hours => took(() => nextSpans(calendar, now.add({ hours: hours * 24 }), 1))),
  );
  look();
  const again = Math.min(took(look), took(look), took(look));
  assert.ok(first < 1000, `the first look took ${first} ms`);
  assert.ok(again < 1000, `a further look took ${again} ms`);
  assert.equal(
    startOf(calendar, { expectedSeconds: 900 }, now).kind,
    'at',
    'openings next to each other are one',
  );
});
