import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { type WebhookKind, webhookKinds } from '@drydock/apis/admission-rules';
import type { Review } from '@drydock/operator/admission';
import { AdmissionHandler } from '@drydock/operator/admission';
import { problemsOfPlan } from '@drydock/operator/manager';
import { creation, MemoryServer, maintenance, own } from '@drydock/operator/testing';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';

function planKind(): WebhookKind {
  const found = webhookKinds().find(({ resource }) => resource === 'maintenanceplans');
  assert.ok(found);
  return found;
}

const kind = planKind();

function plan(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'kernel', uid: 'u', ...metadata },
    spec: { nodeSelector: {}, work: { none: {} }, ...spec },
  };
}

function due(expression: string): JsonObject {
  return { due: { expression } };
}

async function decide(asked: Review, api = new MemoryServer([])): Promise<string> {
  const handler = new AdmissionHandler({
    defects: new PanicHandler({ log: silentLog }),
    api,
    clock: systemClock,
    log: silentLog,
    openShift: false,
    namespace: own,
    planProblems: problemsOfPlan,
  });
  const verdict = await handler.decide(kind, asked);
  await handler.close();
  return verdict.kind === 'allowed' ? 'allowed' : verdict.message;
}

function created(spec: JsonObject, given: Partial<Review> = {}): Promise<string> {
  return decide({ ...creation(maintenance, plan(spec), given), kind: kind.kind });
}

function updated(
  oldObject: JsonObject,
  object: JsonObject,
  given: Partial<Review> = {},
): Promise<string> {
  return decide({
    ...creation(maintenance, object),
    kind: kind.kind,
    operation: 'UPDATE',
    oldObject,
    ...given,
  });
}

const broken = due('node.metadata.name ==');
const sentence =
  /^spec\.due\.expression: ERROR: <input>:1:22: Syntax error: mismatched input '<EOF>'/;

describe('a MaintenancePlan at admission', () => {
  test('that cannot be carried out is refused when it is created, dry runs too, in the words of its condition Valid', async () => {
    assert.equal(await created(due("node.metadata.name == 'a'")), 'allowed');
    for (const dryRun of [false, true]) assert.match(await created(broken, { dryRun }), sentence);
    assert.match(
      await created(due('nodes.size() > 0')),
      /^spec\.due\.expression: .*undeclared reference to 'nodes'/,
    );
    assert.match(
      await created(due("'yes'")),
      /^spec\.due\.expression: .*must evaluate to true or false/,
    );
    const rollback = {
      ...due('true'),
      rollback: { due: { expression: 'plan.x' }, work: { none: {} } },
    };
    assert.match(
      await created(rollback),
      /^spec\.rollback\.due\.expression: .*undefined field 'x'/,
      'before anybody has to undo it',
    );
    assert.match(await created({ work: {}, gates: 7 }), /^the plan cannot be read: /);
  });

  test('is refused by what an update makes wrong, and never by what is wrong already', async () => {
    const fine = plan(due('true'));
    const bad = plan(broken);
    assert.match(await updated(fine, bad), sentence);
    assert.match(
      await updated(bad, plan({ ...broken, done: { expression: 'host' } })),
      /^spec\.done\.expression: /,
    );
    assert.match(
      await updated(bad, plan(due('host'))),
      /^spec\.due\.expression: .*'host'/,
      'another problem in its place',
    );
    assert.equal(await updated(bad, fine), 'allowed');
    for (const spec of [{ state: 'Paused' }, { state: 'Aborted' }, { skipNodes: [{ name: 'n1' }] }])
      assert.equal(
        await updated(bad, plan({ ...broken, ...spec })),
        'allowed',
        JSON.stringify(spec),
      );
    const both = plan({ ...broken, done: { expression: 'host' } });
    assert.equal(
      await updated(both, plan({ ...due('true'), done: { expression: 'host' } })),
      'allowed',
      'one at a time',
    );
  });

  test('is not refused where the spec is the same, it is being deleted, or only its status is written', async () => {
    const bad = plan(broken);
    assert.equal(await updated(bad, plan(broken, { finalizers: [] })), 'allowed');
    assert.equal(
      await updated(plan(due('true')), plan(broken, { deletionTimestamp: '2026-11-21T08:00:00Z' })),
      'allowed',
    );
    assert.equal(await updated(plan(due('true')), bad, { subresource: 'status' }), 'allowed');
  });

  test('needs the rights of whoever writes it all the same', async () => {
    const api = new MemoryServer([]);
    api.denied.add('ann delete-pods');
    const spec = { template: { maintenance: { drain: { disableEviction: true } } } };
    const asked = { ...creation(maintenance, plan(spec)), kind: kind.kind };
    assert.match(
      await decide(asked, api),
      /needs the right delete-pods on maintenanceplans\.drydock\.dev/,
    );
  });
});

describe('a hostile plan at admission', () => {
  const took = async (spec: JsonObject): Promise<number> => {
    const since = process.cpuUsage();
    await created(spec);
    const { user, system } = process.cpuUsage(since);
    return (user + system) / 1000;
  };
  const gate = (expression: string, index: number): JsonObject => ({
    name: `g${index}`,
    promql: { query: 'up', expression },
  });
  const full = (make: (length: number) => string): JsonObject => {
    const expression = make(2048);
    return {
      ...due(expression),
      done: { expression },
      order: { expression },
      rollback: { ...due(expression), done: { expression }, work: { none: {} } },
      gates: Array.from({ length: 16 }, (_, index) => gate(expression, index)),
    };
  };
  const filled = (unit: string, end = ''): ((length: number) => string) => {
    return length => unit.repeat(Math.floor((length - end.length) / unit.length)) + end;
  };

  for (const [what, make] of [
    ['parentheses', filled('(')],
    ['negations', filled('!', 'true')],
    ['operators', filled('1+', '1')],
    ['macros', filled('[1].all(a,', '1')],
    ['optional fields', filled('.?a', 'a')],
    ['choices', filled('a?a:', 'a')],
    ['lines', filled('\n', 'x')],
    ['texts', filled("'a'+", "'")],
    ['patterns', (length: number) => `'a'.matches('${'(a+)+'.repeat((length - 20) / 5)}$')`],
  ] as const) {
    test(`of the largest size that the API server stores costs little: ${what}`, async () => {
      const ms = await took(full(make));
      assert.ok(ms < 1000, `${ms} ms of CPU time`);
    });
  }

  test('of more than the API server stores, which a pod sends that reaches the webhook, costs no more', async () => {
    const expression = filled("'a'+", "'")(100_000);
    const forged = {
      ...due(expression),
      gates: Array.from({ length: 30 }, (_, index) => gate(expression, index)),
    };
    const many = {
      gates: Array.from({ length: 50_000 }, (_, index) => gate(`${index}.0 < value.a.b.c`, index)),
    };
    const large = {
      work: {
        job: {
          podSpec: { containers: [{ name: 'c', image: 'i', args: ['x'.repeat(2_500_000)] }] },
        },
      },
    };
    for (const spec of [forged, many, large]) {
      const ms = await took(spec);
      assert.ok(ms < 1000, `${ms} ms of CPU time`);
    }
  });
});
