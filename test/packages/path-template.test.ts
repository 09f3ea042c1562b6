import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultParts, extraParts, manifests } from '@drydock/cli/install';
import { pathTemplate } from '@drydock/kube-client';
import { copiedKinds, pathOfKind } from '@drydock/rehearse/snapshot';
import fc from 'fast-check';

const templates: readonly (readonly [path: string, template: string])[] = [
  [
    '/api/v1/namespaces/shop/pods/web-1/eviction',
    '/api/v1/namespaces/{namespace}/pods/{name}/eviction',
  ],
  ['/api/v1/namespaces/shop', '/api/v1/namespaces/{name}'],
  [
    '/apis/drydock.dev/v1alpha1/maintenances/m/status',
    '/apis/drydock.dev/v1alpha1/maintenances/{name}/status',
  ],
  ['/apis/drydock.dev/v1alpha1', '/apis/drydock.dev/v1alpha1'],
  [
    '/apis/ceph.rook.io/v1/namespaces/rook/cephclusters',
    '/apis/{group}/{version}/namespaces/{namespace}/{resource}',
  ],
  ['/apis/ceph.rook.io/v1', '/apis/{group}/{version}'],
  [
    '/apis/apps/v1/namespaces/shop/widgets/w',
    '/apis/apps/v1/namespaces/{namespace}/{resource}/{name}',
  ],
  ['/apis/apps/v1x9/deployments', '/apis/apps/{version}/deployments'],
  ['/api/v1/gadgets-96', '/api/v1/{resource}'],
  [
    '/api/v1/namespaces/d/pods/p:8080/proxy/metrics',
    '/api/v1/namespaces/{namespace}/pods/{name}/proxy/metrics',
  ],
  ['/readyz', '/readyz'],
  ['/anything/else', '{other}'],
];
for (const [path, template] of templates)
  test(`${path} is ${template} in metrics`, () => assert.equal(pathTemplate(path), template));

test('ninety-six gates that an author edits make no more series than one', () => {
  const paths = Array.from({ length: 96 }, (_, at) => [
    `/apis/group-${at}.example.com/v1/namespaces/n/things`,
    `/apis/group-${at}.example.com/v${at}/things-${at}`,
    `/api/v1/namespaces/n/things-${at}`,
    `/apis/apps/v1/things-${at}`,
    `/apis/apps/v${at}alpha${at}/deployments`,
    `/apis/apps/v1/deployments/d/sub-${at}`,
  ]).flat();
  assert.equal(new Set(paths.map(pathTemplate)).size, 7);
});

test('law: whatever is asked for, there is a bound on the templates', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.constantFrom('api', 'apis', 'v1', 'apps', 'namespaces', 'pods', 'status'),
          fc.webSegment(),
        ),
        { maxLength: 8 },
      ),
      parts => {
        seen.add(pathTemplate(`/${parts.join('/')}`));
      },
    ),
    { numRuns: 5000 },
  );
  for (const template of seen)
    assert.match(
      template,
      /^(\{other\}|(\/(api|apis|v1|apps|namespaces|pods|status|\{[a-z]+\}|readyz|version)?)+)$/,
    );
});

test('every collection that the shipped roles give rights to, and a snapshot reads, has its own name in metrics', () => {
  const parts = new Set([...defaultParts, ...extraParts]);
  const rules = manifests({ parts, groups: [], namespace: 'drydock-system' }).flatMap(
    one =>
      (
        one as {
          readonly rules?: readonly {
            readonly apiGroups?: readonly string[];
            readonly resources?: readonly string[];
          }[];
        }
      ).rules ?? [],
  );
  const paths = rules.flatMap(({ apiGroups = [], resources = [] }) =>
    apiGroups.flatMap(group =>
      resources.map(resource => {
        const [collection = '', ...sub] = resource.split('/');
        return `${group === '' ? '/api' : `/apis/${group}`}/v1/${[collection, ...(sub.length > 0 ? ['x', ...sub] : [])].join('/')}`;
      }),
    ),
  );
  assert.ok(paths.length > 50);
  for (const path of [...paths, ...copiedKinds.map(pathOfKind)])
    assert.doesNotMatch(pathTemplate(path), /\{(resource|subresource|group|version|other)\}/, path);
});
