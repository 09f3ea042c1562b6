import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { crdTexts } from '@drydock/apis/crds';
import { maintenancePlanSpec } from '@drydock/apis/schema';
import { createCluster, inProcess } from '@drydock/kube-sim';
import { readMonitoringConfig } from '@drydock/operator/monitoring';
import { planExpressions } from '@drydock/operator/plans';
import { VirtualClock } from '@drydock/utils';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { blocksOf } from '../commands/blocks.ts';

/**
 * The plans of the documents are taken as they stand: by the CRD with its rules, and with no field
 * that it does not know; and their CEL compiles.
 */

type Written = { readonly place: string; readonly object: JsonObject };

const documents = ['docs/plans.md', 'docs/plan-recipes.md', 'docs/moving-to-plans.md'];

const written: readonly Written[] = documents
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'yaml')
  .flatMap(({ place, text }) =>
    parseAllDocuments(text).map(document => ({ place, object: document.toJS() as JsonObject })),
  );

const ours = written.filter(({ object }) => object['apiVersion'] === 'drydock.dev/v1alpha1');
const whole = ours.filter(({ object }) => object['kind'] === 'MaintenancePlan');

/** A block that has a part of a spec, such as `gates`: it is tried as a part of the first plan. */
const ofPlans = written.filter(
  ({ place, object }) => place.startsWith('docs/plans.md') && object['apiVersion'] === undefined,
);
const parts = ofPlans.filter(({ object }) => object['sources'] === undefined);
function asPlan({ place, object }: Written): Written {
  return {
    place,
    object: {
      ...whole[0]?.object,
      spec: { ...(whole[0]?.object['spec'] as JsonObject), ...object },
    },
  };
}
const plans = [...whole, ...parts.map(asPlan)];

const resources: Readonly<Record<string, string>> = {
  MaintenancePlan: 'maintenanceplans',
  MaintenanceWindow: 'maintenancewindows',
};

async function start(): Promise<(written: Written) => Promise<string>> {
  const api = inProcess(createCluster({ clock: new VirtualClock(), random: () => 0.5 }), {
    userAgent: 'docs',
  });
  const query = { fieldValidation: 'Strict', dryRun: 'All' };
  for (const text of crdTexts(['drydock.dev'])) {
    const definition = parse(text) as JsonObject;
    await api.call({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: definition,
    });
  }
  return async ({ place, object }) => {
    const kind = object['kind'] as string;
    const resource = resources[kind];
    assert.ok(resource, `${place}: ${kind} is not among those that are tried`);
    const { status, body } = await api.call({
      method: 'POST',
      path: `/apis/drydock.dev/v1alpha1/${resource}`,
      query,
      body: object,
    });
    return status === 201
      ? ''
      : `${place}: ${(body as { readonly message?: string }).message ?? status}`;
  };
}

test('every object of Drydock in the documents about plans is taken by the API server, strictly', async () => {
  const refusalOf = await start();
  assert.deepEqual([plans.length, parts.length], [17, 5]);
  for (const one of [...ours, ...parts.map(asPlan)]) assert.equal(await refusalOf(one), '');
  assert.match(
    await refusalOf(asPlan({ place: 'misspelled', object: { dueTo: {} } })),
    /unknown field "spec\.dueTo"/,
  );
  assert.match(
    await refusalOf(asPlan({ place: 'two works', object: { work: { none: {}, reboot: {} } } })),
    /exactly one of job/,
  );
});

test('every plan of the documents is read as it is meant: its fields are those of the schema, and its CEL compiles', () => {
  for (const { place, object } of plans) {
    assert.ok(maintenancePlanSpec.safeParse(object['spec']).success, place);
    assert.equal(planExpressions(readMaintenancePlan(object)).problem, undefined, place);
  }
  const broken = asPlan({
    place: 'broken',
    object: { due: { expression: "node.metadata.labels.?['a']" } },
  });
  assert.match(
    planExpressions(readMaintenancePlan(broken.object)).problem ?? '',
    /^spec\.due\.expression: /,
  );
});

test('the file of sources is read as it stands, and its plans find their default in it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
  try {
    const files = ofPlans.filter(({ object }) => object['sources'] !== undefined);
    assert.equal(files.length, 1);
    const file = join(folder, 'sources.yaml');
    writeFileSync(file, stringify(files[0]?.object));
    const { sources } = readMonitoringConfig(file);
    assert.deepEqual(
      sources.map(({ kind, name }) => `${kind} ${name}`),
      ['prometheus default', 'alertmanager default'],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a plan of the documents is run through a real API server too: each is marked for it', () => {
  const marked = documents
    .flatMap(blocksOf)
    .filter(({ text }) => text.includes('kind: MaintenancePlan\n'));
  assert.deepEqual(
    marked.filter(({ use }) => use.kind !== 'input').map(({ place }) => place),
    [],
  );
});
