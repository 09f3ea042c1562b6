import type { Clock } from '../../support/clock.ts';
import type { Machine } from '../registry/context.ts';
import type { Feeds } from './feeds.ts';

/** What answering needs. */
export type Server = {
  readonly machine: Machine;
  readonly feeds: Feeds;
  readonly clock: Clock;
};
