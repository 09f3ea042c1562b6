import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '@drydock/utils';
import { Argument, Command, Option } from 'commander';
import { complete, completionScript, shells } from './completion.ts';

const root = new Command('drydock')
  .addCommand(
    new Command('drain')
      .argument('[node...]')
      .option('--force', 'f')
      .option('--timeout <duration>', 't')
      .addOption(new Option('-o, --output <format>', 'o').choices(['json', 'yaml']))
      .addOption(new Option('--secret', 's').hideHelp()),
  )
  .addCommand(new Command('release').argument('<node>'))
  .addCommand(
    new Command('plan')
      .addCommand(
        new Command('retry').argument('<name>').argument('[node...]').option('--failed', 'f'),
      )
      .addCommand(new Command('rerun').argument('<name>')),
  )
  .addCommand(
    new Command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh'])),
  );

function of(...words: readonly string[]): Promise<readonly string[]> {
  return complete(root, words, async () => ['n2', 'n1', 'other']);
}

test('commands, flags, choices and nodes are completed where they may stand', async () => {
  const table: readonly (readonly [readonly string[], readonly string[]])[] = [
    [[''], ['completion', 'drain', 'plan', 'release']],
    [['re'], ['release']],
    [
      ['drain', '--'],
      ['--force', '--output', '--timeout'],
    ],
    [
      ['drain', 'n'],
      ['n1', 'n2'],
    ],
    [['drain', 'n1', '--force', 'o'], ['other']],
    [['drain', '--timeout', ''], []],
    [
      ['drain', '--timeout', '5m', 'n'],
      ['n1', 'n2'],
    ],
    [['drain', '-o', 'j'], ['json']],
    [['release', 'n1', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh'],
    ],
    [['unknown', ''], []],
    [[], ['completion', 'drain', 'plan', 'release']],
    [
      ['plan', 're'],
      ['rerun', 'retry'],
    ],
    [['plan', 'retry', ''], []],
    [
      ['plan', 'retry', 'kernel', 'n'],
      ['n1', 'n2'],
    ],
    [['plan', 'retry', '--'], ['--failed']],
    [['plan', 'unknown', ''], []],
  ];
  for (const [words, expected] of table)
    assert.deepEqual(await of(...words), expected, words.join(' '));
});

test('there is a script for each shell, and a clear word for the others', () => {
  for (const shell of shells) assert.match(completionScript(shell), /drydock __complete/);
  assert.throws(() => completionScript('tcsh'), UsageError);
});
