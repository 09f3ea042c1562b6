/** Objects that cases begin with. */

export const pod = (
  name: string,
  more: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'main', image: 'example.test/app:1' }], ...more },
});

export const template = (labels: Readonly<Record<string, string>>, spec: Readonly<Record<string, unknown>> = {}): object => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'example.test/app:1' }], ...spec },
});

export const workload = (kind: string, name: string, spec: Readonly<Record<string, unknown>> = {}): object => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template({ app: name }), ...spec },
});

export const configMap = (
  name: string,
  data: Readonly<Record<string, string>> = { a: '1' },
  metadata: Readonly<Record<string, unknown>> = {},
): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

export const budget = (name: string, spec: Readonly<Record<string, unknown>>, app = 'app'): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name },
  spec: { selector: { matchLabels: { app } }, ...spec },
});

export const ready = (status = 'True'): object => ({
  status: { phase: 'Running', conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
});
