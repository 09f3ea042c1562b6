import { join } from 'node:path';
import { type Built, ensureBuilt } from '../control-plane/go-build.ts';
import { sourcesOf } from '../integrations/installed.ts';

/** operator-framework's own programs, built from their sources. */

const here = import.meta.dirname;
const small = ['-ldflags', '-s -w'];
const tags = ['-tags', 'json1 containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper'];

/** What the validators find in a bundle, and the kinds of OLM. */
export const validators = await ensureBuilt({
  name: 'olm-validators',
  module: join(here, 'validators'),
  salt: '',
  announcement: "building operator-framework's validators for the tests, two minutes,",
  build: (to, go) => go(['build', ...small, '-o', join(to, 'validators'), '.']),
});

export const opm = await ensureBuilt({
  name: 'opm',
  module: join(here, 'opm'),
  salt: '',
  announcement: 'building opm for the tests, two minutes,',
  build: (to, go) => go(['build', ...tags, ...small, '-o', join(to, 'opm'), 'github.com/operator-framework/operator-registry/cmd/opm']),
});

const olm = 'github.com/operator-framework/operator-lifecycle-manager/cmd';

/** OLM's two controllers: catalogs and install plans, and CSVs. */
export const controllers = await ensureBuilt({
  name: 'olm',
  module: join(here, 'controllers'),
  salt: '',
  announcement: "building OLM's controllers for the tests, two to four minutes,",
  build: (to, go) => go(['build', ...tags, ...small, '-o', `${to}/`, `${olm}/olm`, `${olm}/catalog`]),
});

const olm1 = 'github.com/operator-framework/operator-controller';

/** The sources of OLM 1's controllers, with its kinds. */
export const olm1Sources = (): Promise<string> => sourcesOf(join(here, 'controllers-1'), olm1);

/** OLM 1's two controllers: catalogs, and what is installed from them. */
export const controllers1 = await ensureBuilt({
  name: 'olm-1',
  module: join(here, 'controllers-1'),
  salt: '',
  announcement: "building OLM 1's controllers for the tests, four minutes,",
  build: (to, go) => go(['build', ...tags, ...small, '-o', `${to}/`, `${olm1}/cmd/catalogd`, `${olm1}/cmd/operator-controller`]),
});

/** Path of a program that was built; throws where it was not. */
export const programIn = (built: Built, name: string): string => {
  if (built.kind === 'left-out') throw new Error(built.why);
  return join(built.folder, name);
};
