/** Installed unless left out. */
export const defaultParts = ['crds', 'rbac', 'shared-namespaces', 'operator', 'webhook', 'admission-policies'] as const;

/** Installed when asked for. */
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

/** A folder of deploy/. */
export type Part = (typeof defaultParts)[number] | (typeof extraParts)[number];

const all: readonly Part[] = [...defaultParts, ...extraParts];

export const isPart = (text: string | undefined): text is Part => (all as readonly (string | undefined)[]).includes(text);

/** Added by `--apply` where the cluster serves one of these kinds, as API group and version: rights to what is not there are nobody's need. */
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
  { part: 'virtual-machines', serves: [{ group: 'kubevirt.io', resource: 'virtualmachineinstances' }] },
];

/** The namespace in the files. */
export const defaultNamespace = 'drydock-system';
