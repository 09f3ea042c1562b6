import { eventKinds } from '@drydock/core';
import { z } from 'zod';
import { conditions, labelSelector, rule, rules, time } from './common.ts';

/** drydock.dev/v1alpha1 MaintenanceWindow. */

const duration = z
  .string()
  .regex(/^([0-9]+h)?([0-9]+m)?([0-9]+s)?$/)
  .min(2)
  .max(20);

const moment = z
  .string()
  .min(10)
  .max(40)
  // Four digits for the year: some programs accept more, and their sums fail.
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].*)?$/)
  .describe(
    'RFC 3339 with an offset, or a date, or a date and a time in timeZone: 2026-12-24, 2026-12-24T18:00.',
  );

const opening = z
  .object({
    cron: z
      .string()
      .min(9)
      .max(120)
      .optional()
      .describe('Five fields: minute, hour, day of month, month, weekday.'),
    weekdays: z
      .array(z.enum(['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']))
      .min(1)
      .max(7)
      .optional()
      .describe('Days on which the opening starts; needs start.'),
    start: z
      .string()
      .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/)
      .optional()
      .describe('Time of day at which the opening starts, for example 22:00; needs weekdays.'),
    duration: duration
      .optional()
      .describe('Length of the opening in elapsed time: 4h, 90m, 1h30m; at most a week.'),
    from: moment.optional().describe('Start of a single opening; needs to.'),
    to: moment.optional(),
  })
  .meta(
    rules(
      rule(
        '(has(self.cron) ? 1 : 0) + (has(self.weekdays) || has(self.start) ? 1 : 0) + (has(self.from) || has(self.to) ? 1 : 0) == 1',
        'set exactly one of: cron with duration; weekdays with start and duration; from with to',
      ),
      rule('has(self.from) == has(self.to)', 'from and to need each other'),
      rule('has(self.weekdays) == has(self.start)', 'weekdays and start need each other'),
      rule(
        'has(self.from) != has(self.duration)',
        'duration is required with cron and weekdays, and invalid with from',
      ),
    ),
  );

const freeze = z.object({ from: moment, to: moment, reason: z.string().max(256).optional() });

export const maintenanceWindowSpec = z
  .object({
    timeZone: z
      .string()
      .min(1)
      .max(64)
      .default('UTC')
      .describe('IANA name, for example Europe/Berlin.'),
    nodeSelector: labelSelector
      .optional()
      .describe('The nodes that the window applies to. Defaults to all nodes.'),
    kinds: z
      .array(z.enum(['Maintenance', 'MachineMaintenance', 'MaintenancePlan']))
      .min(1)
      .max(3)
      .default(['Maintenance', 'MachineMaintenance'])
      .describe(
        'The kinds that the window applies to. Maintenance: also MaintenancePlans, which hold nodes by Maintenances. MaintenancePlan: only those.',
      ),
    events: z
      .array(z.enum(eventKinds))
      .max(16)
      .optional()
      .describe(
        'For MachineMaintenances: applies only to those with an event of one of these kinds.',
      ),
    openings: z
      .array(opening)
      .max(64)
      .optional()
      .describe('When maintenances may begin. A window without openings only freezes.'),
    freezes: z
      .array(freeze)
      .max(256)
      .optional()
      .describe(
        'When no maintenance may begin. Freezes take precedence over the openings of all windows.',
      ),
    atEnd: z
      .enum(['Continue', 'Pause', 'Release'])
      .default('Continue')
      .describe(
        'What happens to a drain that is still running at the end of an opening. Continue: the drain continues. Pause: no evictions until the next opening; the node stays held. Release: the node is released, and the maintenance begins again in the next opening.',
      ),
    missed: z
      .enum(['BeforeDeadline', 'EvenInFreeze', 'Wait'])
      .default('BeforeDeadline')
      .describe(
        'What happens when no opening comes before a deadline. BeforeDeadline: begin in time outside of openings, but not in a freeze. EvenInFreeze: begin in time, even in a freeze. Wait: wait for the opening.',
      ),
    expectedDuration: duration
      .optional()
      .describe(
        'Expected duration of a maintenance in this window. Defaults to the observed durations.',
      ),
  })
  .describe('When maintenances may begin.');

export const maintenanceWindowStatus = z
  .object({
    observedGeneration: z.int().optional(),
    open: z.boolean().optional().describe('Whether maintenances may begin now.'),
    next: z
      .object({ startTime: time, endTime: time })
      .optional()
      .describe('The current opening, else the next one.'),
    conditions,
  })
  .describe('Written by Drydock.');

export type MaintenanceWindowSpec = z.input<typeof maintenanceWindowSpec>;
export type MaintenanceWindowStatus = z.input<typeof maintenanceWindowStatus>;
