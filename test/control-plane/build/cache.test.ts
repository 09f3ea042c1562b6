import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { run } from '../processes/command.ts';

const home = mkdtempSync(join(tmpdir(), 'drydock-cache-'));
after(() => rmSync(home, { recursive: true, force: true }));

const maker = `
  import { makeCached } from ${JSON.stringify(join(import.meta.dirname, 'cache.ts'))};
  import { setTimeout as sleep } from 'node:timers/promises';
  const make = async () => { await sleep(2500); };
  console.log(await makeCached({ name: 'program', key: 'abc', announcement: 'building', make }));
`;

test('what several test files need at the same time is made once, and the others wait for it', async () => {
  const make = () =>
    run(process.execPath, ['--input-type=module-typescript', '--eval', maker], {
      environment: { XDG_CACHE_HOME: home },
    });
  const made = await Promise.all([make(), make(), make()]);
  const folder = join(home, 'drydock', 'program', 'abc');
  assert.deepEqual(
    made.map(({ code, stdout }) => [code, stdout.trim()]),
    [0, 1, 2].map(() => [0, folder]),
  );
  assert.equal(made.filter(({ stderr }) => stderr.includes('building into')).length, 1);
  assert.deepEqual(readdirSync(join(home, 'drydock', 'program')), ['abc']);
});
