import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { Log } from '../panic-handler.ts';
import { type LogFormat, pinoLog } from './pino-log.ts';

function logged(
  write: (log: Log) => void,
  options: { readonly format?: LogFormat; readonly level?: string; readonly colour?: boolean } = {},
): string {
  let written = '';
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written += String(chunk);
      done();
    },
  });
  const { format = 'json', level = 'info', colour = false } = options;
  write(pinoLog({ format, level, colour, stream }));
  return written;
}

function parsed(line: string): Record<string, unknown> {
  return JSON.parse(line) as Record<string, unknown>;
}

test('a line of JSON has level, time, message and facts, and nothing of the process', () => {
  const line = logged(log => log.warn('cannot write', { node: 'n1', tries: 2 }));
  assert.ok(line.endsWith('\n'));
  const { time, ...rest } = parsed(line);
  assert.deepEqual(rest, { level: 'warn', node: 'n1', tries: 2, msg: 'cannot write' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('an error keeps its message, its stack and its causes in JSON', () => {
  const error = new Error('no connection', { cause: new Error('connect ECONNREFUSED') });
  const seen = parsed(logged(log => log.error('cannot list', { error })))['error'] as {
    readonly message: string;
    readonly stack: string;
    readonly cause: { readonly message: string };
  };
  assert.equal(seen.message, 'no connection');
  assert.match(seen.stack, /pino-log\.test\.ts/);
  assert.equal(seen.cause.message, 'connect ECONNREFUSED');
});

test('what is no Error is told as it is', () => {
  assert.equal(parsed(logged(log => log.warn('x', { error: 'forbidden' })))['error'], 'forbidden');
});

test('a line of text is for people: time, level, message, facts, and of an error its message', () => {
  const text = (write: (log: Log) => void): string => logged(write, { format: 'text' });
  const clock = /^\d\d:\d\d:\d\d\.\d{3} /;
  const line = text(log =>
    log.info('hold the node', { node: 'n1', path: '/a b', count: 2, none: null }),
  );
  assert.match(line, clock);
  assert.equal(
    line.replace(clock, ''),
    'info  hold the node node=n1 path="/a b" count=2 none=null\n',
  );
  const failed = text(log =>
    log.error('cannot list', { error: new Error('no "connection"') }),
  ).replace(clock, '');
  assert.equal(failed, 'error cannot list error="no \\"connection\\""\n');
  assert.equal(
    text(log => log.warn('x', { error: 'forbidden' })).replace(clock, ''),
    'warn  x error=forbidden\n',
  );
});

test('colours are there only when they are asked for', () => {
  const escape = String.fromCharCode(27);
  const line = (colour: boolean): string =>
    logged(log => log.info('x'), { format: 'text', colour });
  assert.ok(line(true).includes(`${escape}[32minfo`));
  assert.ok(!line(false).includes(escape));
});

test('what is below the level is not written', () => {
  const all = (log: Log): void => {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level);
  };
  const levels = (level: string): readonly unknown[] =>
    logged(all, { level })
      .split('\n')
      .filter(line => line !== '')
      .map(line => parsed(line)['msg']);
  assert.deepEqual(levels('debug'), ['debug', 'info', 'warn', 'error']);
  assert.deepEqual(levels('info'), ['info', 'warn', 'error']);
  assert.deepEqual(levels('error'), ['error']);
});

test('text of others acts on no terminal, in neither format, and JSON means the same', () => {
  const text = '\u001b]0;x\u0007\n\u202e\u009b\u200b\u2028';
  const write = (log: Log): void =>
    log.warn(`refused: ${text}`, {
      [`field${text}`]: text,
      list: [text],
      plain: text.slice(-3),
      error: new Error(text),
    });
  for (const format of ['json', 'text'] as const) {
    const line = logged(write, { format });
    assert.match(line, /^[^\n]+\n$/, format);
    assert.doesNotMatch(line.trimEnd(), /\p{C}|\p{Zl}/u, format);
  }
  assert.match(
    logged(write, { format: 'text' }),
    /WARN|warn .*refused: \^\[\]0;x\^G\\n\\u202e\\u009b\\u200b\\u2028 /,
  );
  const { msg, list } = parsed(logged(write));
  assert.deepEqual([msg, list], [`refused: ${text}`, [text]]);
});
