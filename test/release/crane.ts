import { join } from 'node:path';
import { ensureBuilt } from '../control-plane/go-build.ts';

/** crane, which pushes images, and is a registry as well. */
export const crane = await ensureBuilt({
  name: 'crane',
  module: join(import.meta.dirname, 'crane'),
  salt: '',
  announcement: 'building crane for the tests, a few seconds,',
  build: (to, go) => go(['build', '-o', join(to, 'crane'), '-ldflags', '-s -w', 'github.com/google/go-containerregistry/cmd/crane']),
});
