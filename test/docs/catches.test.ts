import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';

/**
 * Whatever catches an error around a call has our own code inside its `try` as well: it asks what a
 * defect is (packages/utils/src/panic-handler.ts), throws on, or stands here with the reason why it
 * cannot mistake one for a refusal.
 */

const root = join(import.meta.dirname, '..', '..');

/**
 * Processes that run for long, and what they ask with. Commands end with the error, which names
 * itself.
 */
const folders = [
  'apimachinery/src',
  'core/src',
  'operator/src',
  'kube-client/src',
  'openstack/src',
  'clouds/src',
  'dashboard/src',
  'cli/src/manager',
] as const;

/** The error itself is the answer: whoever gets it tells. */
const isHandedOver = /kind: '(failed|broken)',\s*error\b/;

/** What tells the two apart. */
const tells = /\b(isDefect|report|guard|throw)\b|[#.]textOf\(/;

/** Files whose `try` holds no code of ours that could be wrong, with what it holds. */
const harmless: Readonly<Record<string, string>> = {
  'operator/src/admission/review.ts': 'JSON.parse of a request',
  'operator/src/admission/reservation.ts': 'JSON.parse of an annotation',
  'operator/src/admission/certificates/plan.ts':
    'a certificate that others may have written is read',
  'kube-client/src/config/exec.ts': 'an early renewal: the one that has to come of it tells',
  'kube-client/src/config/files.ts': 'a file is read',
  'kube-client/src/http/exchange.ts':
    'a request of node:http; what it throws goes through RoundTripper.failure, which tells',
  'kube-client/src/http/http2-session.ts': 'a request of node:http2; likewise',
  'kube-client/src/watch/watch.ts': 'JSON.parse of a line',
  'dashboard/src/http/dashboard.ts': 'JSON.parse of a body',
  'operator/src/monitoring/source.ts': 'JSON.parse of an answer',
  'openstack/src/identity.ts': 'JSON.parse of an answer',
  'clouds/src/aws/client.ts':
    "the SDK's own call: what it throws at an answer that it cannot read is no fault of ours",
  'clouds/src/aws/region.ts': 'a YAML parser reads what others wrote',
  'clouds/src/cloudevents.ts': 'decodeURIComponent of a header, JSON.parse of a body',
  'clouds/src/metadata/http.ts': 'JSON.parse of an answer',
  'operator/src/manager/event-intake.ts': 'files are read',
  'apimachinery/src/time.ts': 'Temporal reads a text',
  'core/src/hold/hold-record.ts': 'JSON.parse of an annotation',
  'core/src/window/spans.ts': 'the cron library reads a text',
  'core/src/plan/rehearsal/rehearsal.ts': 'JSON.parse of a line',
};

/** Those that hand the error to something that tells. */
const handsOn = /(#broken|#failedBy|#unexpected|#why|failed)\(.*error/;

/** From an opening bracket to its closing one. */
function bracketed(text: string, from: number, [opening, closing]: string): string {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === opening) depth += 1;
    if (text[at] === closing) depth -= 1;
    if (depth === 0) return text.slice(from, at + 1);
  }
  return text.slice(from);
}

function catchesIn(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const clauses = [...text.matchAll(/\bcatch (?:\(\w+\) )?(?=\{)/g)].map(({ index, 0: head }) =>
    bracketed(text, index + head.length, '{}'),
  );
  const calls = [...text.matchAll(/\.catch(?=\()/g)].map(({ index, 0: head }) =>
    bracketed(text, index + head.length, '()'),
  );
  return [...clauses, ...calls];
}

const files = folders.flatMap(folder =>
  readdirSync(join(root, 'packages', folder), { recursive: true, encoding: 'utf8' })
    .filter(
      name => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing/'),
    )
    .map(name => join(root, 'packages', folder, name)),
);

function silentIn(file: string): readonly string[] {
  return catchesIn(file).filter(
    text => !tells.test(text) && !handsOn.test(text) && !isHandedOver.test(text),
  );
}

test('every catch tells a defect from a refusal, or says why there can be none', () => {
  const silent = new Map(
    files
      .map(file => [relative(join(root, 'packages'), file), silentIn(file)] as const)
      .filter(([, found]) => found.length > 0),
  );
  assert.deepEqual(
    [...silent].filter(([file]) => !(file in harmless)),
    [],
    'ask Defects.textOf of packages/utils/src/panic-handler.ts what the error is',
  );
  assert.deepEqual(
    Object.keys(harmless).filter(file => !silent.has(file)),
    [],
    'it catches nothing in silence any more',
  );
});
