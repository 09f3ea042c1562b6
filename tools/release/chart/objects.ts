import type { Manifest, Part } from '@drydock/cli/install';
import { adaptToServerVersion, manifests } from '@drydock/cli/install';
import { Template } from './template.ts';
import { merged, type Switch, type Variant } from './variants.ts';

/** The objects of deploy/ as the chart has them: of the same functions as `drydock install`. */

/** Stands for the namespace of the release until all is text. */
export const namespaceMark = 'namespace-of-the-release';

const legacy = ['nodemaintenance.kubevirt.io', 'kubevirt.io'] as const;

const switches: readonly Switch[] = [
  { name: 'webhook', condition: '.Values.webhook.enabled' },
  { name: 'certManager', condition: '.Values.webhook.certManager' },
  { name: 'controlPlane', condition: '.Values.controlPlane.only' },
  { name: 'hostNetwork', condition: '.Values.hostNetwork' },
  { name: 'selectors', condition: 'semverCompare ">=1.31.0-0" .Capabilities.KubeVersion.Version' },
];

const always: readonly Part[] = [
  'crds',
  'rbac',
  'shared-namespaces',
  'operator',
  'admission-policies',
  'machine-api',
  'virtual-machines',
  'plans',
  'agent',
  'monitoring',
  'api-priority',
];

function partsOn(on: ReadonlySet<string>): ReadonlySet<Part> {
  return new Set<Part>([
    ...always,
    ...(on.has('webhook') ? (['webhook'] as const) : []),
    ...(on.has('certManager') ? (['cert-manager'] as const) : []),
    ...(on.has('controlPlane') ? (['control-plane'] as const) : []),
  ]);
}

/** A certificate of cert-manager is one of the webhook. */
function isPossible(on: ReadonlySet<string>): boolean {
  return on.has('webhook') || !on.has('certManager');
}

const everySetting = switches
  .reduce<readonly ReadonlySet<string>[]>(
    (all, { name }) => all.flatMap(one => [one, new Set([...one, name])]),
    [new Set()],
  )
  .filter(isPossible);

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

function objectsOn(on: ReadonlySet<string>): ReadonlyMap<string, Manifest> {
  const all = manifests({ parts: partsOn(on), groups: legacy, namespace: namespaceMark });
  const fit = adaptToServerVersion(all, { minor: on.has('selectors') ? 31 : 30 }).all;
  return new Map(fit.map(manifest => [keyOf(manifest), manifest]));
}

type Container = Readonly<Record<string, unknown>> & {
  readonly args?: readonly unknown[];
  readonly env?: readonly unknown[];
  readonly ports?: readonly unknown[];
};
type PodTemplate = {
  readonly spec: Readonly<Record<string, unknown>> & { readonly containers: readonly Container[] };
};
type Workload = Manifest & {
  readonly spec: Readonly<Record<string, unknown>> & { readonly template: PodTemplate };
};

/** Further items of a list. */
function more(setting: string): Template {
  return new Template(
    `{{- with .Values.${setting} }}\n{{- toYaml . | nindent INDENT }}\n{{- end }}`,
  );
}
/** Where API servers reach no network of pods. */
const ofNode = { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' };

function json(path: string): Template {
  return new Template(`{{ toJson .Values.${path} }}`);
}

/** What is set takes the place of ours, all of it: parts of two affinities do not make one. */
function affinityOr(ours: unknown): Template {
  return new Template(
    `{{ if .Values.affinity }}{{ toJson .Values.affinity }}{{ else }}${JSON.stringify(ours)}{{ end }}`,
  );
}

/** Where the pods of the operator may run. */
function placement({
  affinity,
  tolerations,
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    nodeSelector: json('nodeSelector'),
    affinity: affinityOr(affinity),
    tolerations: [...(tolerations as readonly unknown[]), more('tolerations')],
  };
}

type Port = { readonly name: string; readonly containerPort: number };

/** Ports of a container, each with a name that has a setting. */
export function portsOf({ ports = [] }: Container): readonly Port[] {
  return ports as readonly Port[];
}

/** Flags that say a port are told the one that is set. */
function withPorts(args: readonly unknown[], ports: readonly Port[]): readonly unknown[] {
  return args.map(arg => {
    const port = ports.find(({ containerPort }) =>
      new RegExp(`[=:]${containerPort}$`).test(String(arg)),
    );
    if (port === undefined) return arg;
    const start = String(arg).slice(0, -String(port.containerPort).length);
    return new Template(`"${start}{{ .Values.ports.${port.name} }}"`);
  });
}

function ofOperator(container: Container): Readonly<Record<string, unknown>> {
  const { args = [], env = [] } = container;
  const ports = portsOf(container);
  return {
    args: [...withPorts(args, ports), more('extraArgs')],
    env: [...env, more('extraEnv')],
    ports: ports.map(port => ({
      ...port,
      containerPort: new Template(`{{ .Values.ports.${port.name} }}`),
    })),
    resources: json('resources'),
  };
}

/**
 * What a container of the operator is told by the chart: further arguments must not say it again.
 */
export function flagsOfOperator({ args = [] }: Container): readonly string[] {
  return [...new Set(args.flatMap(arg => /^--[a-z-]+/.exec(String(arg))?.[0] ?? []))];
}

/** What a setting takes the place of, in a Deployment or DaemonSet. */
function set(manifest: Manifest, isOnHost: boolean): Manifest {
  if (manifest.kind !== 'Deployment' && manifest.kind !== 'DaemonSet') return manifest;
  const { spec } = manifest as Workload;
  const isOperator = manifest.kind === 'Deployment';
  const image = new Template('{{ include "drydock.image" . }}');
  const containers = spec.template.spec.containers.map(container => ({
    ...container,
    image,
    ...(isOperator && ofOperator(container)),
  }));
  const pod = {
    ...spec.template.spec,
    imagePullSecrets: json('image.pullSecrets'),
    containers,
    ...(isOperator && placement(spec.template.spec)),
    ...(isOperator && isOnHost && ofNode),
  };
  return {
    ...manifest,
    spec: {
      ...spec,
      ...(isOperator && { replicas: new Template('{{ .Values.replicas }}') }),
      template: { ...spec.template, spec: pod },
    },
  };
}

const keep = { 'helm.sh/resource-policy': 'keep' };

/** Objects of others would go with the kinds, and leases of held nodes with their namespace. */
function kept(manifest: Manifest): Manifest {
  return ['CustomResourceDefinition', 'Namespace'].includes(manifest.kind)
    ? {
        ...manifest,
        metadata: {
          ...manifest.metadata,
          annotations: {
            ...(manifest.metadata as { readonly annotations?: object }).annotations,
            ...keep,
          },
        } as Manifest['metadata'],
      }
    : manifest;
}

export type ChartObject = {
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly part: Part;
  readonly object: unknown;
};

function partOf(key: string): Part {
  const found = [...always, 'webhook' as const].find(part => {
    const alone = manifests({
      parts: new Set<Part>([part]),
      groups: legacy,
      namespace: namespaceMark,
    });
    return alone.some(manifest => keyOf(manifest) === key);
  });
  return found ?? 'cert-manager';
}

/**
 * Every object, for all settings at once, in the order of installation. The namespace of the
 * release is made by whoever installs it.
 */
export function chartObjects(): readonly ChartObject[] {
  const settings = everySetting.map(on => ({ on, objects: objectsOn(on) }));
  const all = new Map(settings.flatMap(({ objects }) => [...objects]));
  return [...all]
    .filter(([, { kind, metadata }]) => kind !== 'Namespace' || metadata.name !== namespaceMark)
    .map(([key, { kind, metadata }]) => {
      const variants = settings.flatMap(({ on, objects }): readonly Variant[] => {
        const manifest = objects.get(key);
        return manifest === undefined
          ? []
          : [{ on, value: kept(set(manifest, on.has('hostNetwork'))) }];
      });
      return {
        key,
        kind,
        name: metadata.name,
        part: partOf(key),
        object: merged(variants, switches),
      };
    });
}

/** The operator's Deployment, for the defaults of the settings. */
export function operatorDeployment(): Workload {
  const found = manifests({
    parts: new Set<Part>(['operator', 'webhook']),
    groups: [],
    namespace: namespaceMark,
  }).find(({ kind }) => kind === 'Deployment');
  if (found === undefined) throw new Error('deploy/operator has no Deployment');
  return found as Workload;
}
