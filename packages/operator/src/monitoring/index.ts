export { Notifier } from './notifications/notifier.ts';
export { openMonitoring } from './sources.ts';
export { readMonitoringConfig } from './sources-file.ts';
