/** Objects that cases begin with. */

export function pod(
  name: string,
  more: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'example.test/app:1' }], ...more },
  };
}

export function template(
  labels: Readonly<Record<string, string>>,
  spec: Readonly<Record<string, unknown>> = {},
): object {
  return {
    metadata: { labels },
    spec: { containers: [{ name: 'main', image: 'example.test/app:1' }], ...spec },
  };
}

export function workload(
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
): object {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, template: template({ app: name }), ...spec },
  };
}

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = { a: '1' },
  metadata: Readonly<Record<string, unknown>> = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...metadata },
    data,
  };
}

export function budget(name: string, spec: Readonly<Record<string, unknown>>, app = 'app'): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { selector: { matchLabels: { app } }, ...spec },
  };
}

export function ready(status = 'True'): object {
  return {
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  };
}
