export { openMonitoring } from './sources.ts';
export { readMonitoringConfig } from './sources-file.ts';
