import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, documents, typedIn } from '../commands/blocks.ts';

/** test/commands runs the blocks; here is what can be said of them without a control plane. */

const blocks = documents.flatMap(blocksOf);

test('every fence says what is in it, so that no command is overlooked', () => {
  const languages = ['sh', 'console', 'text', 'yaml', 'json', 'ts', 'typescript', 'mermaid'];
  assert.deepEqual(
    blocks.filter(({ language }) => !languages.includes(language)).map(({ place }) => place),
    [],
  );
});

test('what is not run says why, and there is little of it', () => {
  const uses = ['run', 'demo', 'input', 'not run', 'no commands'];
  assert.deepEqual(
    blocks.filter(({ use }) => !uses.includes(use.kind)).map(({ place }) => place),
    [],
  );
  const reasons = blocks.flatMap(({ use }) => (use.kind === 'not run' ? [use.why] : []));
  for (const why of reasons) assert.match(why, /\w+ \w+/);
  assert.deepEqual(
    [reasons.length, blocks.filter(({ use }) => use.kind === 'run').length > 40],
    [10, true],
  );
});

/** A word with which a command begins, behind a prompt, an assignment or `sudo` or not. */
const command =
  /^(\$ .*|((sudo|\w+=\S+) )*(drydock|kubectl|oc|npm|npx|node|helm|git|docker|podman|crane|kustomize|curl|export|cd)( .*)?)$/;

test('no command hides in a block of text: it would not be run', () => {
  const hidden = blocks.filter(
    ({ language, text }) => language === 'text' && command.test(text.split('\n')[0] ?? ''),
  );
  assert.deepEqual(
    hidden.map(({ place }) => place),
    [],
  );
  for (const line of ['$ ls', 'drydock install', 'sudo kubectl get nodes', 'A=1 npm test', 'cd'])
    assert.match(line, command);
  for (const line of ['node.status.conditions', 'watch ─▶ ClusterCache', 'ERROR: <input>'])
    assert.doesNotMatch(line, command);
});

test('a console shows a prompt before everything that is typed', () => {
  for (const { place, text } of blocks.filter(({ language }) => language === 'console')) {
    assert.ok(text.startsWith('$ '), place);
    assert.ok(typedIn(text).length > 0, place);
  }
});
