import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import { operatorUsers } from '../operator/harness/shipped.ts';
import { removeWebhook } from '../operator/harness/webhook-address.ts';
import { sectionOf } from '../predecessors/guide.ts';
import { type Block, blocksOf, documents, root, typedIn } from './blocks.ts';
import { freshClone } from './clone.ts';
import { type NoNpm, type Npm, npmOf } from './npm.ts';
import type { Session } from './session.ts';
import { furnish, furnishOlder } from './surroundings.ts';

/** Every command of the documents, as somebody types it who has just cloned the repository. */

const started = await startControlPlane({ users: operatorUsers });
const npms = await Promise.all([npmOf('10'), npmOf('latest')]);

function whyNot(): string | false {
  if (started.kind === 'left-out') return `control plane left out: ${started.why}`;
  if (started.external)
    return 'it installs Drydock and takes it away: it needs a control plane of its own';
  return existsSync(join(root, '.git'))
    ? false
    : 'documents left out: this is no clone that could be cloned';
}
function isThere(npm: Npm | NoNpm): npm is Npm {
  return 'version' in npm;
}
const controlPlane = started as ControlPlane;
const skip = whyNot();

/** The steps from and to other operators have a test of their own, with those operators. */
const runElsewhere = new Set(
  ['medik8s 0.16 and newer', 'KubeVirt v1beta1'].flatMap(heading =>
    sectionOf(heading).ways.flatMap(({ steps }) => steps.flatMap(({ blocks }) => blocks)),
  ),
);

function words(line: string): string {
  return line.trim().split(/\s+/).join(' ');
}

/**
 * Of a console the heads of tables are compared; what is below them differs from cluster to
 * cluster.
 */
function assertHeads({ text, place }: Block, stdout: string): void {
  const heads = typedIn(text).flatMap(({ printed }) => printed.slice(0, 1));
  for (const head of heads)
    assert.ok(
      stdout.split('\n').some(line => words(line) === words(head)),
      `${place}: ${head}\n${stdout}`,
    );
}

async function tryBlock(session: Session, block: Block): Promise<void> {
  if (block.use.kind === 'demo') {
    const { stdout } = await session.interrupt(block.text, /^Press Ctrl-C to stop/m);
    assert.match(stdout, /http:\/\/127\.0\.0\.1:\d+\//);
    return;
  }
  const { code, stdout, stderr } = await session.run(block);
  // Nothing leads to the Services of this control plane: the webhook could not be reached.
  if (/drydock install .*--apply/.test(block.text)) await removeWebhook(controlPlane.api);
  assert.equal(code, 0, `${block.place} ended with ${code}:\n${block.text}\n${stdout}${stderr}`);
  if (block.language === 'console') assertHeads(block, stdout);
}

async function tryDocument(session: Session, document: string): Promise<void> {
  for (const block of blocksOf(document)) {
    const isRun =
      block.use.kind === 'run' || block.use.kind === 'demo' || block.use.kind === 'input';
    if (isRun && !runElsewhere.has(block.text)) await tryBlock(session, block);
  }
}

describe('the commands of the documents', { skip, timeout: 600_000 }, () => {
  const sessions: Session[] = [];
  const given: Record<string, string> = {
    TOKEN: 'token-of-the-tests',
    LEASES: 'leases-of-our-own',
  };
  before(async () => {
    const [port = 0] = await freePorts(1);
    given['INTAKE'] = `http://127.0.0.1:${port}/`;
    await furnish(controlPlane);
  });
  after(async () => {
    for (const session of sessions) await session.end();
    await controlPlane.stop();
  });

  for (const npm of npms) {
    const lacks = isThere(npm) ? false : `npm left out: ${npm.why}`;
    describe(`of the README, with npm ${isThere(npm) ? npm.version : 'of another version'}`, {
      skip: lacks,
    }, () => {
      const { version } = npm as Npm;
      const crds = crdTexts(defaultGroups).join('---\n');
      let session: Session;
      before(async () => {
        session = await freshClone(controlPlane, npm as Npm, given);
        sessions.push(session);
      });
      after(() => session.end());

      test('the first pipe in a clone reads nothing but the output, while packages are installed', async () => {
        const { code, stdout, stderr } = await session.command('bin/drydock crds | cat');
        assert.deepEqual([code, stdout], [0, crds], stderr);
        assert.match(stderr, /^drydock: installing packages/m);
        const { stdout: node } = await session.command('node_modules/.bin/node --version');
        assert.match(node, /^v26\./, 'it brings a Node of its own, which the scripts of npm find');
        const again = await session.command('bin/drydock crds | cat');
        assert.deepEqual(again, { code: 0, stdout: crds, stderr: '' });
      });

      test('a pipe behind npm start reads what the README says', async () => {
        const silent = await session.command('npm start --silent -- crds | cat');
        assert.deepEqual([silent.code, silent.stdout], [0, crds], silent.stderr);
        const { stdout, stderr } = await session.command('npm start -- crds | cat');
        const isClean = Number(version.split('.')[0]) >= 12;
        assert.equal(stdout === crds, isClean, stdout.slice(0, 200));
        assert.equal(/the pipe has two lines of npm in it/.test(stderr), !isClean, stderr);
      });

      test('nothing that npm says of what goes wrong is kept back', async () => {
        const none = await session.command('npm run no-such-script');
        assert.notEqual(none.code, 0);
        assert.match(none.stderr, /missing script: "?no-such-script/i);
        const tests = await session.command('npm test -- no-such-tier');
        assert.notEqual(tests.code, 0);
        assert.match(tests.stderr, /there is no tier "no-such-tier"; there are: check, /);
      });

      test('all blocks of the README', async () => {
        await tryDocument(session, 'README.md');
        await session.end();
        assert.deepEqual(
          readdirSync(session.temporary).filter(name => name.startsWith('drydock-demo-')),
          [],
          'nothing is left of the demo',
        );
      });
    });
  }

  describe('of all others', {
    skip: npms.every(npm => !isThere(npm)) && 'npm left out: see above',
  }, () => {
    const session = (): Session => sessions[0] as Session;
    before(async () => {
      const { code, stderr } = await session().command(
        'bin/drydock install --apply --without operator webhook',
      );
      assert.equal(code, 0, stderr);
      await furnishOlder(controlPlane);
      const file = join(session().folder, 'token');
      writeFileSync(file, given['TOKEN'] ?? '');
      const address = new URL(given['INTAKE'] ?? '').host;
      await operatorsOn(controlPlane)({
        flags: [`--event-intake-bind-address=${address}`, `--event-intake-token-file=${file}`],
      });
      const maintenance = blocksOf('docs/maintenance.md').find(({ use }) => use.kind === 'input');
      writeFileSync(join(session().folder, 'maintenance.yaml'), maintenance?.text ?? '');
    });
    for (const document of documents.slice(1))
      test(document, () => tryDocument(session(), document));
  });
});
