import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { readMaintenanceWindow } from '@drydock/apis';
import { calendarOf, openNow } from '@drydock/core/window';
import { at } from '@drydock/kube-sim';
import fc from 'fast-check';
import { type ImportedWindow, type TimesOfDay, windowOf } from './times-of-day.ts';

function times(some: Partial<TimesOfDay>): TimesOfDay {
  return { days: ['mon'], start: '0:00', end: '23:59:59', timeZone: '', ...some };
}

function isOpen({ window }: ImportedWindow, moment: Temporal.Instant): boolean {
  const read = readMaintenanceWindow({
    metadata: { name: 'w', uid: 'u', resourceVersion: '1' },
    spec: window['spec'],
  });
  return openNow(calendarOf([read]), moment) !== undefined;
}

function openings(some: Partial<TimesOfDay>): unknown {
  return at(windowOf('w', times(some)).window, 'spec', 'openings');
}

const week = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const sunday = Temporal.Instant.from('2026-11-22T00:00:00Z');
function clock(minute: number): string {
  return `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`;
}

/**
 * What kured documents and does: the day of the moment is one of the days, and its time is between
 * the two, over midnight where they are the other way round.
 */
function isOpenThere(days: readonly number[], start: number, end: number, minute: number): boolean {
  const time = minute % 1440;
  const within = start <= end ? start <= time && time < end : time >= start || time < end;
  return days.includes(Math.floor(minute / 1440)) && within;
}

test('a window is open at the minutes at which theirs is', () => {
  const minute = fc.integer({ min: 0, max: 1438 });
  const some = fc.record({
    days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
    start: minute,
    end: minute,
    moments: fc.array(fc.integer({ min: 0, max: 7 * 1440 - 1 }), { minLength: 12, maxLength: 12 }),
  });
  fc.assert(
    fc.property(some, ({ days, start, end, moments }) => {
      fc.pre(start !== end);
      const window = windowOf(
        'w',
        times({ days: days.map(day => week[day] ?? ''), start: clock(start), end: clock(end) }),
      );
      const edges = days.flatMap(day =>
        [start, end].flatMap(edge => [day * 1440 + edge, day * 1440 + Math.max(edge - 1, 0)]),
      );
      for (const moment of [...moments, ...edges])
        assert.equal(
          isOpen(window, sunday.add({ minutes: moment, seconds: 30 })),
          isOpenThere(days, start, end, moment),
          `minute ${moment}`,
        );
    }),
    { numRuns: 60 },
  );
});

test('over midnight it is open on the days that are named, in their mornings and evenings', () => {
  const window = windowOf(
    'w',
    times({ days: ['mo', 'tu', 'we', 'th', 'fr'], start: '21:00', end: '05:00' }),
  );
  const at4 = (day: number): Temporal.Instant => Temporal.Instant.from(`2026-11-${day}T04:00:00Z`);
  assert.deepEqual(
    [at4(23), at4(24), at4(28)].map(moment => isOpen(window, moment)),
    [true, true, false],
    'Monday, Tuesday, Saturday',
  );
  assert.deepEqual(openings({ days: ['5'], start: '22:00', end: '0:00' }), [
    { weekdays: ['Fri'], start: '22:00', duration: '2h' },
  ]);
});

test('every way in which they write a time', () => {
  for (const [text, wanted] of [
    ['9:00', '09:00'],
    ['09:00', '09:00'],
    ['9', '09:00'],
    ['21', '21:00'],
    ['9am', '09:00'],
    ['9pm', '21:00'],
    ['09pm', '21:00'],
    ['09:30pm', '21:30'],
    ['12am', '00:00'],
    ['12pm', '12:00'],
    ['21:00:00', '21:00'],
    ['21:00:30', '21:01'],
  ] as const)
    assert.equal((openings({ start: text }) as readonly JsonObject[])[0]?.['start'], wanted, text);
  for (const end of ['23:59', '23:59:59'])
    assert.deepEqual(
      openings({ end }),
      [{ weekdays: ['Mon'], start: '00:00', duration: '24h' }],
      end,
    );
  assert.deepEqual(openings({ days: ['saturday', '0'], end: '2:30' }), [
    { weekdays: ['Sun', 'Sat'], start: '00:00', duration: '150m' },
  ]);
});

test('what is open for a moment is open for a minute, and that is said', () => {
  for (const [time, wanted] of [
    ['22:00', { weekdays: ['Mon'], start: '22:00', duration: '1m' }],
    ['23:59:59', { weekdays: ['Mon'], start: '23:59', duration: '1m' }],
    ['0:00', { weekdays: ['Mon'], start: '00:00', duration: '1m' }],
  ] as const) {
    const { window, left } = windowOf('w', times({ start: time, end: time }));
    assert.deepEqual(at(window, 'spec', 'openings'), [wanted]);
    assert.match(left ?? '', /open for a minute/);
  }
});

test('what cannot be read, and no day at all, is never open, and that is said', () => {
  const table: readonly (readonly [Partial<TimesOfDay>, RegExp])[] = [
    [{ days: [] }, /no day is named/],
    [{ days: ['mon', 'someday'] }, /the day "someday" cannot be read/],
    [{ days: ['7'] }, /the day "7"/],
    [{ start: '25:00' }, /the time "25:00"/],
    [{ start: '' }, /the time "" cannot be read/],
    [{ end: '9 pm' }, /the time "9 pm"/],
    [{ end: '13pm' }, /the time "13pm"/],
    [{ start: '12:60' }, /the time "12:60"/],
    [{ timeZone: 'Europe/Nowhere' }, /Europe\/Nowhere/],
  ];
  for (const [some, wanted] of table) {
    const imported = windowOf('nights', times(some));
    assert.match(imported.left ?? '', wanted);
    assert.match(
      imported.left ?? '',
      /MaintenanceWindow nights never opens until you write its openings$/,
    );
    for (let hour = 0; hour < 168; hour += 1)
      assert.equal(isOpen(imported, sunday.add({ hours: hour })), false);
  }
});
