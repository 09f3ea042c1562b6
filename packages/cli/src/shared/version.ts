import { readShipped } from '@drydock/utils';

/** Returns the version in package.json. */
export const version = (): string => {
  return (JSON.parse(readShipped('package.json').toString()) as { readonly version: string }).version;
};
