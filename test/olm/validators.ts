import { join } from 'node:path';
import { type Built, ensureBuilt } from '../control-plane/build/go-build.ts';

/** operator-framework's own validators, built from their sources. */

/** What the validators find in bundles and catalogs, and the kinds of OLM. */
export const validators = await ensureBuilt({
  name: 'olm-validators',
  module: join(import.meta.dirname, 'validators'),
  salt: '',
  announcement: "building operator-framework's validators for the tests, a minute or two,",
  build: (to, go) => go(['build', '-ldflags', '-s -w', '-o', join(to, 'validators'), '.']),
});

/** Path of a program that was built; throws where it was not. */
export function programIn(built: Built, name: string): string {
  if (built.kind === 'left-out') throw new Error(built.why);
  return join(built.folder, name);
}

/** For the option `skip`: why one of these is not there, or false. */
export function leftOutOf(...programs: readonly Built[]): string | false {
  return (
    programs.map(built => (built.kind === 'left-out' ? built.why : '')).find(why => why !== '') ??
    false
  );
}
