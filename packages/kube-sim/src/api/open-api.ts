import type { JsonObject } from '@drydock/apimachinery';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import { kubernetesVersion } from '../kubernetes-version.ts';
import { answer, type Response } from './message.ts';

/**
 * Returns the part of the OpenAPI v3 documents that kubectl reads before it applies: the kinds, and
 * that their patches accept `fieldValidation`. Schemas of fields are missing, so `kubectl explain`
 * does not work.
 */
export function openApi(kinds: KindTable, path: string): Response | undefined {
  const groups = new Map(kinds.all().map(kind => [rootOf(kind), apiVersionOf(kind)]));
  if (path === '/openapi/v3') {
    const paths = [...groups.keys()].map(root => [
      root,
      { serverRelativeURL: `/openapi/v3/${root}?hash=0` },
    ]);
    return answer({ paths: Object.fromEntries(paths) as JsonObject });
  }
  const root = path.replace('/openapi/v3/', '');
  if (!path.startsWith('/openapi/v3/') || !groups.has(root)) return undefined;
  const served = kinds.all().filter(kind => rootOf(kind) === root);
  return answer({
    openapi: '3.0.0',
    info: { title: 'Drydock', version: kubernetesVersion },
    paths: Object.fromEntries(
      served.map(kind => [`/${pathOf(kind)}`, { patch: patchOf(kind) }]),
    ) as JsonObject,
    components: {
      schemas: Object.fromEntries(
        served.map(kind => [
          nameOf(kind),
          { type: 'object', 'x-kubernetes-group-version-kind': [kindOf(kind)] },
        ]),
      ) as JsonObject,
    },
  });
}

function rootOf({ group, version }: Kind): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}
function pathOf(kind: Kind): string {
  return `${rootOf(kind)}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}/{name}`;
}
function kindOf({ group, version, kind }: Kind): JsonObject {
  return { group, version, kind };
}
function nameOf({ group, version, kind }: Kind): string {
  return `${group === '' ? 'core' : group}.${version}.${kind}`;
}

function parameter(name: string): JsonObject {
  return { name, in: 'query', schema: { type: 'string', uniqueItems: true } };
}

function patchOf(kind: Kind): JsonObject {
  return {
    parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map(parameter),
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': kindOf(kind),
  };
}
