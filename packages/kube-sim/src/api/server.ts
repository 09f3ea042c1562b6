import type { Clock } from '@drydock/utils';
import type { RegistryContext } from '../registry/context.ts';
import type { Feeds } from './feeds.ts';

/** Dependencies of the handlers. */
export type Server = {
  readonly registry: RegistryContext;
  readonly feeds: Feeds;
  readonly clock: Clock;
};
