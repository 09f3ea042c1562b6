/** Parts that are installed unless excluded. */
export const defaultParts = [
  'crds',
  'rbac',
  'shared-namespaces',
  'operator',
  'webhook',
  'admission-policies',
] as const;

/** Parts that are installed on request. */
export const extraParts = [
  'machine-api',
  'virtual-machines',
  'plans',
  'agent',
  'monitoring',
  'cert-manager',
  'control-plane',
  'api-priority',
] as const;

/** A part of the installation: a folder of deploy/. */
export type Part = (typeof defaultParts)[number] | (typeof extraParts)[number];

const all: readonly Part[] = [...defaultParts, ...extraParts];

export function isPart(text: string | undefined): text is Part {
  return (all as readonly (string | undefined)[]).includes(text);
}

/**
 * Parts that `--apply` adds where the cluster serves one of these kinds, as API group and resource:
 * rights to absent kinds are of no use.
 */
export const partsByKinds: readonly {
  readonly part: Part;
  readonly serves: readonly { readonly group: string; readonly resource: string }[];
}[] = [
  {
    part: 'machine-api',
    serves: [
      { group: 'machine.openshift.io', resource: 'machines' },
      { group: 'cluster.x-k8s.io', resource: 'machines' },
    ],
  },
  {
    part: 'virtual-machines',
    serves: [{ group: 'kubevirt.io', resource: 'virtualmachineinstances' }],
  },
];

/** Namespace in the manifest files. */
export const defaultNamespace = 'drydock-system';
