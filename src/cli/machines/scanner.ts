import type { EventScanner, SignalReader } from '../../operator/machines/sources.ts';
import type { Api } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';

export const scanner = (_with: { readonly api: Api; readonly log: Log; readonly clock: Clock }): EventScanner => ({
  scan: async source => ({ source: source.name, looked: new Set(), events: [], unknown: [] }),
});

export const signals: SignalReader = () => [];
