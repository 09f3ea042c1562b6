import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { Part } from '../../../src/cli/install/install-parts.ts';
import { pack } from '../archive.ts';
import { build, dist, manifest, root } from '../paths.ts';
import { type ChartObject, chartObjects, namespaceMark, operatorDeployment } from './objects.ts';
import { settingsOf } from './settings.ts';
import { templateOf } from './template.ts';
import { valuesOf, valuesSchemaOf } from './values.ts';

/** Which setting a part depends on; the others are always there. */
const conditions: Partial<Record<Part, string>> = {
  crds: '.Values.crds.enabled',
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

/** Of single objects. */
const ownCondition = ({ kind, name }: ChartObject): string | undefined => {
  if (kind === 'NetworkPolicy' && name === 'drydock') return '.Values.networkPolicy.enabled';
  if (kind === 'ClusterRoleBinding' && name === 'drydock-pod-deletion') return '.Values.podDeletion.enabled';
  const [, group] = kind === 'CustomResourceDefinition' ? (/^nodemaintenances\.(.*)$/.exec(name) ?? []) : [];
  return group === undefined || group === 'nodemaintenance.medik8s.io' ? undefined : `has "${group}" .Values.crds.groups`;
};

const within = (condition: string | undefined, text: string): string =>
  condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`;

const fileOf = (part: Part, objects: readonly ChartObject[]): string => {
  const documents = objects.map(one => within(ownCondition(one), `---\n${templateOf(one.object)}`));
  return within(conditions[part], documents.join('')).replaceAll(namespaceMark, '{{ .Release.Namespace }}');
};

const helpers = `{{/* The image, by its digest where one is given. */}}
{{- define "drydock.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
`;

/** What contradicts itself is refused, and not installed half. */
const refusals = `{{- if and .Values.webhook.certManager (not .Values.webhook.enabled) }}
{{- fail "webhook.certManager is for the webhook: set webhook.enabled as well" }}
{{- end }}
{{- if and .Values.controlPlane.only .Values.affinity }}
{{- fail "controlPlane.only is an affinity: set one of controlPlane.only and affinity" }}
{{- end }}
`;

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

const chartYaml = (objects: readonly ChartObject[]): object => ({
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
});

/** Makes `drydock-chart-VERSION.tgz` and answers its name. */
export const chart = (): string => {
  const folder = `${build}chart/${manifest.name}/`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}templates`, { recursive: true });
  const objects = chartObjects();
  const { spec } = operatorDeployment();
  const [container] = spec.template.spec.containers;
  const settings = settingsOf({
    image: String(container?.['image']),
    replicas: Number(spec['replicas']),
    resources: container?.['resources'] ?? {},
  });
  const files: Record<string, string> = {
    'Chart.yaml': stringify(chartYaml(objects), { lineWidth: 0 }),
    'values.yaml': valuesOf(settings),
    'values.schema.json': valuesSchemaOf(settings),
    'templates/_helpers.tpl': helpers,
    'templates/refusals.yaml': refusals,
    'templates/NOTES.txt': notes,
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
};
