import { join } from 'node:path';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { sourcesOf } from '../integrations/installed.ts';

/** opm, and the controllers of both generations of OLM, built from their sources. */

const here = import.meta.dirname;

const small = ['-ldflags', '-s -w'];
const tags = [
  '-tags',
  'json1 containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper',
];

export const opm = await ensureBuilt({
  name: 'opm',
  module: join(here, 'opm'),
  salt: '',
  announcement: 'building opm for the tests, two minutes,',
  build: (to, go) =>
    go([
      'build',
      ...tags,
      ...small,
      '-o',
      join(to, 'opm'),
      'github.com/operator-framework/operator-registry/cmd/opm',
    ]),
});

const olm = 'github.com/operator-framework/operator-lifecycle-manager/cmd';

/** OLM's two controllers: catalogs and install plans, and CSVs. */
export const controllers = await ensureBuilt({
  name: 'olm',
  module: join(here, 'controllers'),
  salt: '',
  announcement: "building OLM's controllers for the tests, two to four minutes,",
  build: (to, go) =>
    go(['build', ...tags, ...small, '-o', `${to}/`, `${olm}/olm`, `${olm}/catalog`]),
});

const olm1 = 'github.com/operator-framework/operator-controller';

/** The sources of OLM 1's controllers, with its kinds. */
export function olm1Sources(): Promise<string> {
  return sourcesOf(join(here, 'controllers-1'), olm1);
}

/** OLM 1's two controllers: catalogs, and what is installed from them. */
export const controllers1 = await ensureBuilt({
  name: 'olm-1',
  module: join(here, 'controllers-1'),
  salt: '',
  announcement: "building OLM 1's controllers for the tests, four minutes,",
  build: (to, go) =>
    go([
      'build',
      ...tags,
      ...small,
      '-o',
      `${to}/`,
      `${olm1}/cmd/catalogd`,
      `${olm1}/cmd/operator-controller`,
    ]),
});
