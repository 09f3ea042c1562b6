import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { agreedHash, agreedSpec } from '@drydock/apis';
import { maintenancePlanSpec } from '@drydock/apis/schema';
import { manifestsOf } from '@drydock/cli/install';

/** What is approved is what runs: every field of a plan's CRD, edited after the approval. */

const free = [
  'expectedSeconds',
  'onDelete',
  'pace',
  'pause',
  'retries',
  'runID',
  'skipNodes',
  'state',
];
const fields = Object.keys(maintenancePlanSpec.shape);
const spec: JsonObject = Object.fromEntries(fields.map(field => [field, { before: 'x' }]));

for (const field of fields) {
  test(`an edit of spec.${field} ${free.includes(field) ? 'leaves an approval as it is' : 'voids an approval'}`, () => {
    const edited = { ...spec, [field]: { before: 'y' } };
    const { [field]: _gone, ...without } = spec;
    for (const other of [edited, without])
      assert.equal(agreedHash(other) === agreedHash(spec), free.includes(field));
    assert.equal(field in agreedSpec(spec), !free.includes(field), 'the approver is shown it');
  });
}

test('the order of the fields says nothing, nor does which nodes come first', () => {
  const turned = Object.fromEntries(Object.entries(spec).toReversed());
  assert.equal(agreedHash(turned), agreedHash(spec));
  const first = (names: readonly string[]): JsonObject => ({
    ...spec,
    order: { by: ['Name'], first: names },
  });
  assert.equal(agreedHash(first(['n1'])), agreedHash(first([])));
  assert.notEqual(
    agreedHash({ ...spec, order: { by: ['Age'] } }),
    agreedHash({ ...spec, order: { by: ['Name'] } }),
  );
});

test('whatever takes the right write-work voids an approval', () => {
  const policy = manifestsOf('plans').find(
    ({ kind, metadata }) =>
      kind === 'ValidatingAdmissionPolicy' && metadata.name === 'drydock-plan-work',
  );
  const guarded = [...JSON.stringify(policy).matchAll(/object\.spec\.\??(\w+)/g)].map(
    ([, field = '']) => field,
  );
  assert.ok(new Set(guarded).size >= 12, guarded.join());
  for (const field of guarded) assert.ok(!free.includes(field), field);
});
