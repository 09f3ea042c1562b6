import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settingsOf } from '../../tools/release/image/containerfile.ts';
import { copied } from '../release/containerfile.ts';

/** Containerfile: test/release/image.test.ts runs what it has an engine run. */

const root = join(import.meta.dirname, '..', '..');

test('the container engine gets exactly what it copies', () => {
  const allowed = readFileSync(join(root, '.dockerignore'), 'utf8').matchAll(/^!(.+)$/gm);
  assert.deepEqual([...copied].sort(), [...allowed].flatMap(([, path = '']) => [path]).sort());
});

test('its last stage is read as an engine reads it', () => {
  const stages = [
    'FROM base AS one',
    'USER 0',
    'RUN anything && \\',
    '  more',
    '',
    'FROM scratch',
    '# A comment.',
    'COPY --from=one /image /',
    'WORKDIR /place',
    'ENV ONE=1',
    'ENV TWO="a --b=2"',
    'USER 1:2',
    'EXPOSE 80 443',
    'ENTRYPOINT ["/a", "b c"]',
    'CMD ["d"]',
    '',
  ];
  assert.deepEqual(settingsOf(stages.join('\n')), {
    User: '1:2',
    WorkingDir: '/place',
    Env: ['ONE=1', 'TWO=a --b=2'],
    Entrypoint: ['/a', 'b c'],
    Cmd: ['d'],
    ExposedPorts: { '80/tcp': {}, '443/tcp': {} },
  });
});

test('what is not read in it is refused, with its line: it would be missing from the release', () => {
  for (const line of [
    'RUN anything',
    'HEALTHCHECK NONE',
    'ENV ONE=1 TWO=2',
    'ENV ONE 1',
    'ENV ONE=$TWO',
    'ENV ONE="a\\"b"',
    'EXPOSE 80/udp',
    'ENTRYPOINT node main.mjs',
    'CMD ["a", \\',
    'user 1:2',
  ])
    assert.throws(
      () => settingsOf(`FROM scratch\n${line}\n`),
      error =>
        error instanceof Error && error.message.startsWith(`Containerfile: "${line}" cannot`),
      line,
    );
});
