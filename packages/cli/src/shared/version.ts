import { readShipped } from '@drydock/utils/shipped';

/** Returns the version in package.json. */
export function version(): string {
  return (JSON.parse(readShipped('package.json').toString()) as { readonly version: string })
    .version;
}
