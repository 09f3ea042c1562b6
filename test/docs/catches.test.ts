import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';

/**
 * Whatever catches an error around a call has our own code inside its `try` as well: it asks what a defect is (support/panic-handler.ts), throws on, or
 * stands here with the reason why it cannot mistake one for a refusal.
 */

const root = join(import.meta.dirname, '..', '..');

/** Processes that run for long, and what they ask with. Commands end with the error, which names itself. */
const folders = ['operator', 'admission', 'kube', 'web', 'monitoring', 'nova', 'clouds', 'cli/manager', 'core'] as const;

/** The error itself is the answer: whoever gets it tells. */
const isHandedOver = /kind: '(failed|broken)', error\b/;

/** What tells the two apart. */
const tells = /\b(isDefect|tell|guard|throw)\b|[#.]textOf\(/;

/** Files whose `try` holds no code of ours that could be wrong, with what it holds. */
const harmless: Readonly<Record<string, string>> = {
  'admission/review.ts': 'JSON.parse of a request',
  'admission/reservation.ts': 'JSON.parse of an annotation',
  'admission/certificates/plan.ts': 'a certificate that others may have written is read',
  'kube/config/exec.ts': 'an early renewal: the one that has to come of it tells',
  'kube/config/in-cluster.ts': 'a file is read',
  'kube/http/exchange.ts': 'a request of node:http; what it throws goes through RoundTripper.failure, which tells',
  'kube/http/http2-exchange.ts': 'a request of node:http2; likewise',
  'kube/watch/watch-lines.ts': 'JSON.parse of a line',
  'web/dashboard/http/body.ts': 'JSON.parse of a body',
  'monitoring/refusal.ts': 'JSON.parse of an answer',
  'nova/failure.ts': 'JSON.parse of an answer',
  'clouds/aws/client.ts': "the SDK's own call: what it throws at an answer that it cannot read is no fault of ours",
  'clouds/aws/region.ts': 'a YAML parser reads what others wrote',
  'clouds/cloudevents.ts': 'decodeURIComponent of a header, JSON.parse of a body',
  'clouds/metadata/http.ts': 'JSON.parse of an answer',
  'cli/manager/event-tokens.ts': 'files are read',
  'core/time.ts': 'Temporal reads a text',
  'core/hold/hold-record.ts': 'JSON.parse of an annotation',
  'core/window/spans.ts': 'the cron library reads a text',
  'core/plan/rehearsal/summary.ts': 'JSON.parse of a line',
};

/** Those that hand the error to something that tells. */
const handsOn = /(#broken|#failedBy|#unexpected|#why|failed)\(.*error/;

/** From an opening bracket to its closing one. */
const bracketed = (text: string, from: number, [opening, closing]: string): string => {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === opening) depth += 1;
    if (text[at] === closing) depth -= 1;
    if (depth === 0) return text.slice(from, at + 1);
  }
  return text.slice(from);
};

const catchesIn = (file: string): readonly string[] => {
  const text = readFileSync(file, 'utf8');
  const clauses = [...text.matchAll(/\bcatch (?:\(\w+\) )?(?=\{)/g)].map(({ index, 0: head }) =>
    bracketed(text, index + head.length, '{}'),
  );
  const calls = [...text.matchAll(/\.catch(?=\()/g)].map(({ index, 0: head }) => bracketed(text, index + head.length, '()'));
  return [...clauses, ...calls];
};

const files = folders.flatMap(folder =>
  readdirSync(join(root, 'src', folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing/'))
    .map(name => join(root, 'src', folder, name)),
);

const silentIn = (file: string): readonly string[] =>
  catchesIn(file).filter(text => !tells.test(text) && !handsOn.test(text) && !isHandedOver.test(text));

test('every catch tells a defect from a refusal, or says why there can be none', () => {
  const silent = new Map(
    files.map(file => [relative(join(root, 'src'), file), silentIn(file)] as const).filter(([, found]) => found.length > 0),
  );
  assert.deepEqual(
    [...silent].filter(([file]) => !(file in harmless)),
    [],
    'ask Defects.textOf of support/panic-handler.ts what the error is',
  );
  assert.deepEqual(
    Object.keys(harmless).filter(file => !silent.has(file)),
    [],
    'it catches nothing in silence any more',
  );
});
