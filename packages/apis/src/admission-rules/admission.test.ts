import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { served } from '../served.ts';
import { admissionKinds, webhookConfiguration, webhooks } from './admission.ts';

describe('the webhooks', () => {
  test('are one for each served kind, and know it by the same name, kind and path', () => {
    const adapters = served({ leaseNamespace: 'a', operatorNamespace: 'b' });
    const known = admissionKinds().map(({ name, kind, collections: [path] }) => ({
      name,
      kind,
      path,
    }));
    const own = adapters.map(({ name, kind, path }) => ({ name, kind, path }));
    const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
      one.name < other.name ? -1 : 1;
    assert.deepEqual(known.toSorted(byName), own.toSorted(byName));
  });

  test('have names and paths that differ, each a name of three parts and more as the API server wants it', () => {
    const all = webhooks();
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { name } of all) assert.match(name, /^[a-z0-9-]+(\.[a-z0-9-]+){2,}$/);
    const paths = admissionKinds().flatMap(({ paths }) => paths);
    assert.equal(new Set(paths).size, paths.length);
  });

  test("of the replaced operators keep name, path and terms: medik8s'", () => {
    const [medik8s] = webhooks();
    assert.deepEqual(medik8s, {
      name: 'vnodemaintenance.kb.io',
      path: '/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance',
      rules: [
        {
          apiGroups: ['nodemaintenance.medik8s.io'],
          apiVersions: ['v1beta1'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['nodemaintenances'],
          scope: '*',
        },
      ],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: 'NoneOnDryRun',
      timeoutSeconds: 5,
      admissionReviewVersions: ['v1', 'v1beta1'],
      matchConditions: [
        {
          name: 'spec-is-new-or-changed-or-quorum-is-waived',
          expression:
            "request.operation != 'UPDATE' || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)" +
            " || (has(object.metadata.annotations) && 'drydock.dev/allow-quorum-loss' in object.metadata.annotations && object.metadata.annotations['drydock.dev/allow-quorum-loss'] == 'true'" +
            " && !(has(oldObject.metadata.annotations) && 'drydock.dev/allow-quorum-loss' in oldObject.metadata.annotations && oldObject.metadata.annotations['drydock.dev/allow-quorum-loss'] == 'true'))",
        },
      ],
    });
  });

  test('make a configuration, in which each has the address of its path', () => {
    const made = webhookConfiguration(path => ({ url: `https://localhost${path}` }), 'other');
    const entries = made['webhooks'] as readonly {
      readonly name: string;
      readonly clientConfig: unknown;
      readonly path?: string;
    }[];
    assert.deepEqual(made['metadata'], { name: 'other' });
    assert.deepEqual(
      entries.map(({ name, clientConfig }) => ({ name, clientConfig })),
      webhooks().map(({ name, path }) => ({
        name,
        clientConfig: { url: `https://localhost${path}` },
      })),
    );
    assert.ok(entries.every(entry => !('path' in entry)));
  });
});
