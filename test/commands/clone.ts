import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { run } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { root } from './blocks.ts';
import type { Npm } from './npm.ts';
import { Session } from './session.ts';

/** Of the machine, without what npm has put in front of it for the tests. */
function pathOfMachine(): readonly string[] {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(folder => !folder.includes('node_modules') && !folder.includes('node-gyp-bin'));
}

/** What npm tells the scripts that it runs, and Node the tests; a person has none of it. */
const told =
  /^(npm_(lifecycle|package)_|npm_(command|execpath|node_execpath)$|npm_config_(loglevel|user_agent|local_prefix)$|NODE_(OPTIONS|TEST|COMPILE)|DRYDOCK_|INIT_CWD$|KUBE)/;

function ownEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !told.test(entry[0]),
    ),
  );
}

/**
 * A fresh clone of what is committed, and a terminal in it, with this npm, and with the kubectl and
 * the kubeconfig of the control plane.
 */
export async function freshClone(
  controlPlane: ControlPlane,
  npm: Npm,
  more: Readonly<Record<string, string>> = {},
): Promise<Session> {
  const folder = join(controlPlane.folder, `npm-${npm.version}`);
  const [clone, temporary] = ['drydock', 'tmp'].map(name => join(folder, name)) as [string, string];
  mkdirSync(temporary, { recursive: true });
  const { code, stderr } = await run('git', ['clone', '--quiet', root, clone]);
  assert.equal(code, 0, stderr);
  // npm 12 does not run on Node 20: whoever has it has a newer one as well.
  const node = Number(npm.version.split('.')[0]) < 12 ? [] : [dirname(process.execPath)];
  const path = [npm.folder, ...node, dirname(controlPlane.kubectlPath), ...pathOfMachine()].join(
    delimiter,
  );
  const environment = {
    ...ownEnvironment(),
    PATH: path,
    KUBECONFIG: controlPlane.kubeconfig,
    TMPDIR: temporary,
    ...more,
  };
  return new Session({ clone, logs: join(folder, 'logs'), environment });
}
