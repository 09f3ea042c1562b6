import type { Case } from '../site.ts';
import { configMap, pod } from './things.ts';

function asks(
  name: string,
  method: string,
  path: string,
  ask: { readonly body?: unknown; readonly type?: string; readonly accept?: string } = {},
): Case {
  return {
    name,
    bare: true,
    run: async at => {
      await at.ask(method, path, ask);
    },
  };
}

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json';

/** Paths, methods, media types, discovery: what comes before any object. */
export const protocol: readonly Case[] = [
  asks('a path outside of the API', 'GET', '/nothing/here'),
  asks('a group that is not served', 'GET', '/apis/nothing.example.test/v1/things'),
  asks('POST to a group that is not served', 'POST', '/apis/nothing.example.test/v1/things', {
    body: {},
  }),
  asks('PATCH of a group that is not served', 'PATCH', '/apis/nothing.example.test/v1/things/x', {
    body: {},
  }),
  asks('POST to discovery', 'POST', '/apis/apps/v1', { body: {} }),
  asks('a version that is not served', 'GET', '/apis/apps/v9/deployments'),
  asks('a resource that is not served', 'GET', '/api/v1/bars'),
  asks('a resource that is not served, in a namespace', 'GET', '/api/v1/namespaces/default/bars'),
  asks('an object of a resource that is not served', 'DELETE', '/api/v1/namespaces/default/bars/x'),
  asks('a subresource that is not served', 'GET', '/api/v1/namespaces/default/pods/x/nothing'),
  asks('a missing object', 'GET', '/api/v1/namespaces/default/pods/none'),
  asks('a missing object of a group', 'GET', '/apis/apps/v1/namespaces/default/deployments/none'),
  asks('a missing cluster-wide object', 'GET', '/api/v1/nodes/none'),
  asks('the status of a missing object', 'GET', '/api/v1/nodes/none/status'),
  asks(
    'the scale of a missing object',
    'GET',
    '/apis/apps/v1/namespaces/default/deployments/none/scale',
  ),
  asks('POST to an object', 'POST', '/api/v1/namespaces/default/pods/x', { body: pod('x') }),
  asks('PUT to a collection', 'PUT', '/api/v1/namespaces/default/pods', { body: pod('x') }),
  asks('PATCH of a collection', 'PATCH', '/api/v1/namespaces/default/pods', { body: {} }),
  asks('POST to the pods of all namespaces', 'POST', '/api/v1/pods', { body: pod('x') }),
  asks('DELETE of the pods of all namespaces', 'DELETE', '/api/v1/pods'),
  asks('DELETE of all namespaces', 'DELETE', '/api/v1/namespaces'),
  asks('GET of an eviction', 'GET', '/api/v1/namespaces/default/pods/x/eviction'),
  asks('GET of a binding', 'GET', '/api/v1/namespaces/default/pods/x/binding'),
  asks('DELETE of a status', 'DELETE', '/api/v1/nodes/x/status'),
  asks('a body that is no JSON', 'POST', '/api/v1/namespaces/default/configmaps', {
    body: 'x',
    type: 'text/plain',
  }),
  asks(
    'a patch of an unknown type',
    'PATCH',
    '/api/v1/namespaces/default/configmaps/kube-root-ca.crt',
    {
      body: '{}',
      type: 'application/json',
    },
  ),
  asks('a body of another kind', 'POST', '/api/v1/namespaces/default/pods', {
    body: configMap('x'),
  }),
  asks('a body of another version', 'POST', '/api/v1/namespaces/default/configmaps', {
    body: { ...configMap('x'), apiVersion: 'v2' },
  }),
  asks('a body of another group', 'POST', '/apis/apps/v1/namespaces/default/deployments', {
    body: { apiVersion: 'v1', kind: 'Deployment', metadata: { name: 'x' } },
  }),
  asks('an empty list as an object', 'GET', '/api/v1/namespaces/nowhere/pods'),
  asks('an empty list as a table', 'GET', '/api/v1/namespaces/nowhere/pods', { accept: table }),
  asks('an empty list as metadata', 'GET', '/apis/apps/v1/namespaces/nowhere/deployments', {
    accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  }),
  ...['healthz', 'livez', 'readyz'].map(path => asks(`/${path}`, 'GET', `/${path}`)),
  {
    name: 'the resources of every served group',
    bare: true,
    run: async at => {
      const served = new Set(
        `configmaps events namespaces nodes persistentvolumeclaims persistentvolumes pods secrets serviceaccounts daemonsets deployments
         replicasets statefulsets jobs poddisruptionbudgets leases priorityclasses volumeattachments validatingwebhookconfigurations
         customresourcedefinitions`.split(/\s+/),
      );
      const parts = new Set(['', 'status', 'scale', 'binding', 'eviction', 'finalize']);
      const groups = [
        'apps',
        'batch',
        'policy',
        'coordination.k8s.io',
        'scheduling.k8s.io',
        'storage.k8s.io',
        'admissionregistration.k8s.io',
        'apiextensions.k8s.io',
      ];
      for (const path of ['/api/v1', ...groups.map(group => `/apis/${group}/v1`)]) {
        const { body } = await at.get(path, { compared: false });
        const resources = body['resources'] as readonly Readonly<Record<string, unknown>>[];
        const known = resources.filter(({ name }) => {
          const [plural = '', part = ''] = String(name).split('/');
          return served.has(plural) && parts.has(part);
        });
        at.note(
          path,
          known.map(({ storageVersionHash: _hash, ...rest }) => rest),
        );
      }
    },
  },
  {
    name: 'a group with its versions',
    bare: true,
    run: async at => {
      await at.get('/apis/apps');
      await at.get('/apis/policy');
    },
  },
];
