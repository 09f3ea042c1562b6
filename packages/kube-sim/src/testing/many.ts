import type { JsonObject } from '@drydock/apimachinery';

function meta(name: string, namespace?: string): JsonObject {
  return {
    name,
    uid: `uid-${name}`,
    ...(namespace !== undefined && { namespace }),
  };
}

/** So many nodes with so many pods each, as an API server would list them. */
export function* many(nodes: number, pods: number, ready = 'True'): Generator<JsonObject> {
  for (let node = 0; node < nodes; node += 1) {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const labels = { 'topology.kubernetes.io/zone': `zone-${node % 3}` };
    yield {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { ...meta(`node-${node}`), labels },
      spec: {},
      status: { conditions },
    };
    for (let pod = 0; pod < pods; pod += 1) {
      yield {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: meta(`pod-${node}-${pod}`, `space-${pod}`),
        spec: { nodeName: `node-${node}`, containers: [{ name: 'main', image: 'x:1' }] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
      };
    }
  }
}
