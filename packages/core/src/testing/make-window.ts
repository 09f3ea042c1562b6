import type { MaintenanceWindow } from '../window/spans.ts';

/** A window for tests: it is for everything, and says nothing. */
export function makeWindow(over: Partial<MaintenanceWindow> = {}): MaintenanceWindow {
  return {
    key: 'nights',
    name: 'nights',
    uid: 'uid-nights',
    resourceVersion: '1',
    generation: 1,
    timeZone: 'UTC',
    kinds: ['Maintenance', 'MachineMaintenance'],
    openings: [],
    freezes: [],
    atEnd: 'Continue',
    missed: 'BeforeDeadline',
    status: {},
    ...over,
  };
}
