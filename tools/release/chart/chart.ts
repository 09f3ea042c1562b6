import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Part } from '@drydock/cli/install';
import { stringify } from 'yaml';
import { pack } from '../archive.ts';
import { build, dist, manifest, root } from '../paths.ts';
import {
  type ChartObject,
  chartObjects,
  flagsOfOperator,
  namespaceMark,
  operatorDeployment,
  portsOf,
} from './objects.ts';
import { settingsOf } from './settings.ts';
import { templateOf } from './template.ts';
import { defaultsOf, groupsOf, type Settings, valuesOf, valuesSchemaOf } from './values.ts';

/** Which setting a part depends on; the others are always there. */
const conditions: Partial<Record<Part, string>> = {
  crds: '.Values.crds.enabled',
  'shared-namespaces': '.Values.sharedNamespaces.enabled',
  webhook: '.Values.webhook.enabled',
  'cert-manager': 'and .Values.webhook.enabled .Values.webhook.certManager',
  'admission-policies': '.Values.admissionPolicies.enabled',
  'machine-api': '.Values.machineApi.enabled',
  'virtual-machines': '.Values.virtualMachines.enabled',
  plans: '.Values.plans.enabled',
  agent: '.Values.agent.enabled',
  monitoring: '.Values.monitoring.enabled',
  'api-priority': '.Values.apiPriority.enabled',
};

/**
 * What others use as well: where somebody else has made it, it is left as it is. Helm would refuse
 * it, or write its own labels on it.
 */
function isShared({ kind, name, part }: ChartObject): boolean {
  return (
    part === 'shared-namespaces' ||
    (kind === 'CustomResourceDefinition' && !name.endsWith('.drydock.dev'))
  );
}

function madeByOthers({ kind, name }: ChartObject): string {
  const api = kind === 'Namespace' ? 'v1' : 'apiextensions.k8s.io/v1';
  return `include "drydock.madeByOthers" (dict "release" $.Release "api" "${api}" "kind" "${kind}" "name" "${name}")`;
}

/** Of single objects. */
function ownCondition(object: ChartObject): string | undefined {
  const wanted = wantedCondition(object);
  if (!isShared(object)) return wanted;
  const free = `not (${madeByOthers(object)})`;
  return wanted === undefined ? free : `and (${wanted}) (${free})`;
}

function wantedCondition({ kind, name }: ChartObject): string | undefined {
  if (kind === 'NetworkPolicy' && name === 'drydock') return '.Values.networkPolicy.enabled';
  if (kind === 'ClusterRoleBinding' && name === 'drydock-pod-deletion')
    return '.Values.podDeletion.enabled';
  const [, group] =
    kind === 'CustomResourceDefinition' ? (/^nodemaintenances\.(.*)$/.exec(name) ?? []) : [];
  return group === undefined || group === 'nodemaintenance.medik8s.io'
    ? undefined
    : `has "${group}" .Values.crds.groups`;
}

function within(condition: string | undefined, text: string): string {
  return condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

function fileOf(part: Part, objects: readonly ChartObject[]): string {
  const documents = objects.map(one => within(ownCondition(one), `---\n${templateOf(one.object)}`));
  return `${readValues}${withNamespace(withValues(within(conditions[part], documents.join(''))))}`;
}

/** A namespace may be called 2024, which is a number to YAML where it stands alone. */
function withNamespace(text: string): string {
  return text
    .replaceAll(new RegExp(`(?<=: |- )${namespaceMark}$`, 'gm'), '{{ .Release.Namespace | quote }}')
    .replaceAll(namespaceMark, '{{ .Release.Namespace }}');
}

/** The first line of every template. */
const readValues = '{{- $values := include "drydock.values" . | fromJson }}\n';

/**
 * `helm upgrade --reuse-values` has the values of the release before alone, without settings that
 * are new: templates read values that have all of them.
 */
function withValues(text: string): string {
  return text.replaceAll('.Values.', '$values.');
}

function helpersOf(settings: Settings): string {
  return `{{/* The values, with the defaults of settings that are not given at all. */}}
{{- define "drydock.values" -}}
{{- $given := .Values | toJson | fromJson -}}
{{- $groups := list ${groupsOf(settings)
    .map(name => `"${name}"`)
    .join(' ')} -}}
{{- range $name, $default := fromJson ${JSON.stringify(JSON.stringify(defaultsOf(settings)))} -}}
{{- if not (hasKey $given $name) -}}
{{- $_ := set $given $name $default -}}
{{- else if has $name $groups -}}
{{- $group := get $given $name -}}
{{- range $key, $value := $default -}}
{{- if not (hasKey $group $key) -}}{{- $_ := set $group $key $value -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $given -}}
{{- end -}}
{{/* Whether an object is there that this release has not made. Helm looks nothing up where it only renders. */}}
{{- define "drydock.madeByOthers" -}}
{{- with lookup .api .kind "" .name -}}
{{- $by := .metadata.annotations | default dict -}}
{{- if or (ne (get $by "meta.helm.sh/release-name") $.release.Name) (ne (get $by "meta.helm.sh/release-namespace") $.release.Namespace) -}}yes{{- end -}}
{{- end -}}
{{- end -}}
{{/* The image, by its digest where one is given. */}}
{{- define "drydock.image" -}}
{{- $values := include "drydock.values" . | fromJson -}}
{{- if $values.image.digest -}}
{{ $values.image.repository }}@{{ $values.image.digest }}
{{- else -}}
{{ $values.image.repository }}:{{ $values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
`;
}

/** What contradicts itself is refused, and not installed half. */
function refusalsOf(flags: readonly string[]): string {
  return `{{- range .Values.extraArgs }}
{{- if has (regexFind "^--[a-z-]+" .) (list ${flags.map(one => `"${one}"`).join(' ')}) }}
{{- fail (printf "extraArgs: %s is set by the chart: use its settings (ports, webhook)" .) }}
{{- end }}
{{- end }}
{{- if and .Values.webhook.certManager (not .Values.webhook.enabled) }}
{{- fail "webhook.certManager is for the webhook: set webhook.enabled as well" }}
{{- end }}
{{- if and .Values.controlPlane.only .Values.affinity }}
{{- fail "controlPlane.only is an affinity: set one of controlPlane.only and affinity" }}
{{- end }}
`;
}

const notes = `Drydock {{ .Chart.AppVersion }} is installed in {{ .Release.Namespace }}.

Wait until it leads:
  kubectl -n {{ .Release.Namespace }} rollout status deployment/drydock

Take a node out of service, see what becomes of it, and bring it back:
  kubectl create -f - <<'END'
  apiVersion: drydock.dev/v1alpha1
  kind: Maintenance
  metadata: {name: first}
  spec: {nodeName: NODE, reason: "new disk"}
  END
  kubectl get maintenances
  kubectl delete maintenance first

Whoever may take nodes out of service needs the ClusterRole drydock-maintenance-editor, whoever looks drydock-maintenance-viewer.
Before helm uninstall: \`drydock uninstall --namespace {{ .Release.Namespace }}\` says which nodes are held; with --release-nodes --apply it releases them.
{{- if not .Values.machineApi.enabled }}
{{- if or (.Capabilities.APIVersions.Has "machine.openshift.io/v1beta1") (.Capabilities.APIVersions.Has "cluster.x-k8s.io/v1beta2") }}

This cluster has machines: machineApi.enabled=true lets Drydock replace them.
{{- end }}
{{- end }}
{{- if not .Values.virtualMachines.enabled }}
{{- if .Capabilities.APIVersions.Has "kubevirt.io/v1" }}

This cluster has KubeVirt: virtualMachines.enabled=true lets Drydock move its VMs.
{{- end }}
{{- end }}
`;

function chartYaml(objects: readonly ChartObject[]): object {
  return {
    apiVersion: 'v2',
    name: manifest.name,
    description: manifest.description,
    type: 'application',
    version: manifest.version,
    appVersion: manifest.version,
    kubeVersion: '>=1.30.0-0',
    home: 'https://drydock.dev',
    keywords: ['node', 'maintenance', 'drain', 'cordon', 'kubevirt', 'openstack'],
    annotations: {
      'artifacthub.io/category': 'integration-delivery',
      'artifacthub.io/license': manifest.license,
      'artifacthub.io/operator': 'true',
      'artifacthub.io/operatorCapabilities': 'Full Lifecycle',
      'artifacthub.io/crds': stringify(
        objects
          .filter(({ kind }) => kind === 'CustomResourceDefinition')
          .map(({ object }) => {
            const { spec } = object as {
              readonly spec: {
                readonly names: { readonly kind: string };
                readonly group: string;
                readonly versions: readonly { readonly name: string }[];
              };
            };
            return {
              kind: spec.names.kind,
              version: Array.isArray(spec.versions) ? spec.versions[0]?.name : 'v1alpha1',
              name: spec.names.kind,
              displayName: spec.names.kind,
              description: spec.group,
            };
          }),
      ),
    },
  };
}

/** Makes `drydock-chart-VERSION.tgz` and answers its name. */
export function chart(): string {
  const folder = `${build}chart/${manifest.name}/`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}templates`, { recursive: true });
  const objects = chartObjects();
  const { spec } = operatorDeployment();
  const [container] = spec.template.spec.containers;
  const settings = settingsOf({
    image: String(container?.['image']),
    replicas: Number(spec['replicas']),
    ports: Object.fromEntries(
      portsOf(container ?? {}).map(({ name: of, containerPort }) => [of, containerPort]),
    ),
    resources: container?.['resources'] ?? {},
    nodeSelector: Object(spec.template.spec['nodeSelector']),
  });
  const files: Record<string, string> = {
    'Chart.yaml': stringify(chartYaml(objects), { lineWidth: 0 }),
    'values.yaml': valuesOf(settings),
    'values.schema.json': valuesSchemaOf(settings),
    'templates/_helpers.tpl': helpersOf(settings),
    'templates/refusals.yaml':
      readValues + withValues(refusalsOf(flagsOfOperator(container ?? {}))),
    'templates/NOTES.txt': readValues + withValues(notes),
  };
  for (const part of new Set(objects.map(one => one.part)))
    files[`templates/${part}.yaml`] = fileOf(
      part,
      objects.filter(one => one.part === part),
    );
  for (const [name, text] of Object.entries(files)) writeFileSync(`${folder}${name}`, text);
  cpSync(`${root}LICENSE`, `${folder}LICENSE`);
  const name = `${manifest.name}-chart-${manifest.version}.tgz`;
  pack(
    `${dist}${name}`,
    `${build}chart`,
    [...Object.keys(files), 'LICENSE'].map(file => `${manifest.name}/${file}`),
  );
  return name;
}
