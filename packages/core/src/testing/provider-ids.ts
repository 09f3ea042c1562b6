/**
 * How the providers of nodes call their machines, by their documents and the code of their
 * controllers.
 */

export type ProviderForm = {
  readonly name: string;
  /** spec.providerID of the Node and of its Machine. */
  readonly providerId: string;
  /** The instance as the cloud calls it; missing where nothing in the providerID is one. */
  readonly instance?: string;
  /** Further names of the same machine that announcements may have. */
  readonly alsoCalled?: readonly string[];
  /** Names of other machines that look like it. */
  readonly notCalled?: readonly string[];
  /** What an agent on it says, and whether it is the node's own word. */
  readonly told?: readonly (readonly [
    provider: 'aws' | 'azure' | 'gcp',
    instance: string,
    own: boolean,
  ])[];
  /** EC2 is asked about it. */
  readonly isEc2?: true;
};

const id = '4230d3d2-6a1b-4c5d-9e0f-0123456789ab';
const vm =
  '/subscriptions/S-1/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/worker-1';
const member =
  '/subscriptions/S-1/resourceGroups/RG/providers/Microsoft.Compute/virtualMachineScaleSets/pool/virtualMachines/3';
const ocid = 'ocid1.instance.oc1.phx.abuw4ljrlsfiqw6vzzxb43vyypt4pkodawglp3wqxjqofakrwvou52gb6s5a';

export const providerForms: readonly ProviderForm[] = [
  {
    name: 'AWS EC2',
    providerId: 'aws:///us-east-1a/i-0123456789abcdef0',
    instance: 'i-0123456789abcdef0',
    isEc2: true,
    alsoCalled: [
      'arn:aws:ec2:us-east-1:123456789012:instance/i-0123456789abcdef0',
      'aws:////i-0123456789abcdef0',
    ],
    notCalled: [
      'arn:aws:ec2:us-west-2:123456789012:instance/i-0123456789abcdef0',
      'arn:aws:rds:us-east-1:123456789012:instance/i-0123456789abcdef0',
      'aws:///us-west-2a/i-0123456789abcdef0',
      'gce:///us-east-1a/i-0123456789abcdef0',
      'I-0123456789ABCDEF0',
    ],
    told: [
      ['aws', 'i-0123456789abcdef0', true],
      ['aws', 'i-0fedcba9876543210', false],
      ['gcp', 'i-0123456789abcdef0', false],
    ],
  },
  {
    name: 'AWS EC2 in China',
    providerId: 'aws:///cn-north-1a/i-0123456789abcdef1',
    instance: 'i-0123456789abcdef1',
    isEc2: true,
    alsoCalled: ['arn:aws-cn:ec2:cn-north-1:123456789012:instance/i-0123456789abcdef1'],
  },
  {
    name: 'AWS Fargate',
    providerId:
      'aws:///us-west-2c/63c8ae2f4a-1e4e1ee6e5cc1f7a/fargate-ip-192-168-1-2.us-west-2.compute.internal',
    instance: 'fargate-ip-192-168-1-2.us-west-2.compute.internal',
  },
  {
    name: 'EKS hybrid nodes',
    providerId: 'eks-hybrid:///us-west-2/prod/mi-0123456789abcdef0',
    instance: 'mi-0123456789abcdef0',
  },
  {
    name: 'Azure',
    providerId: `azure://${vm}`,
    instance: 'worker-1',
    alsoCalled: [
      'Worker-1',
      vm,
      vm.toUpperCase(),
      `https://management.azure.com${vm}`,
      `${vm}/providers/Microsoft.Maintenance/scheduledevents/C1`,
      `azure://${vm}`.toLowerCase(),
    ],
    notCalled: [vm.replace('RG', 'other'), vm.replace('worker-1', 'worker-10'), member],
    told: [
      ['azure', 'Worker-1', true],
      ['azure', 'worker-1', true],
      ['azure', 'worker-2', false],
      ['aws', 'worker-1', false],
    ],
  },
  {
    name: 'Azure scale set',
    providerId: `azure://${member}`,
    instance: 'pool_3',
    alsoCalled: [member, 'POOL_3', member.toLowerCase()],
    notCalled: ['3', 'pool_4', member.replace('pool', 'other')],
    told: [
      ['azure', 'Pool_3', true],
      ['azure', '3', false],
    ],
  },
  {
    name: 'Google Compute Engine',
    providerId: 'gce://my-project/europe-west1-b/worker-2',
    instance: 'worker-2',
    alsoCalled: [
      'https://www.googleapis.com/compute/v1/projects/my-project/zones/europe-west1-b/instances/worker-2',
      '//compute.googleapis.com/projects/my-project/zones/europe-west1-b/instances/worker-2',
      'compute.googleapis.com/projects/my-project/zones/europe-west1-b/instances/worker-2',
      'projects/my-project/zones/europe-west1-b/instances/worker-2',
    ],
    notCalled: [
      'gce://other/europe-west1-b/worker-2',
      'projects/my-project/zones/europe-west1-c/instances/worker-2',
      'Worker-2',
    ],
    told: [
      ['gcp', 'worker-2', true],
      ['gcp', 'worker-3', false],
    ],
  },
  {
    name: 'OpenStack',
    providerId: `openstack:///${id}`,
    instance: id,
    alsoCalled: [id.toUpperCase(), `openstack://RegionOne/${id}`],
    notCalled: [`vsphere://${id}`, id.replace('4230', '4231')],
    told: [['aws', 'i-0000abcd', true]],
  },
  {
    name: 'vSphere',
    providerId: 'vsphere://4230C0FE-6A1B-4C5D-9E0F-0123456789AB',
    instance: '4230C0FE-6A1B-4C5D-9E0F-0123456789AB',
    alsoCalled: [
      '4230c0fe-6a1b-4c5d-9e0f-0123456789ab',
      'vsphere://4230c0fe-6a1b-4c5d-9e0f-0123456789ab',
    ],
  },
  {
    name: 'Oracle Cloud',
    providerId: ocid,
    instance: ocid,
    alsoCalled: [`oci://${ocid}`],
    notCalled: [ocid.replace('phx', 'iad')],
  },
  {
    name: 'Oracle Cloud with a scheme',
    providerId: `oci://${ocid}2`,
    instance: `${ocid}2`,
    alsoCalled: [`${ocid}2`],
  },
  {
    name: 'Oracle virtual node',
    providerId: 'ocid1.virtualnode.oc1.phx.abc',
    instance: 'ocid1.virtualnode.oc1.phx.abc',
  },
  {
    name: 'Alibaba Cloud',
    providerId: 'cn-hangzhou.i-bp1abcdefghijklmnopq',
    instance: 'i-bp1abcdefghijklmnopq',
    alsoCalled: [
      'alicloud://cn-hangzhou.i-bp1abcdefghijklmnopq',
      'acs:ecs:cn-hangzhou:1234567890:instance/i-bp1abcdefghijklmnopq',
    ],
    notCalled: [
      'cn-beijing.i-bp1abcdefghijklmnopq',
      'acs:ecs:cn-beijing:1:instance/i-bp1abcdefghijklmnopq',
    ],
  },
  { name: 'Tencent Cloud', providerId: 'qcloud:///800002/ins-abcdefgh', instance: 'ins-abcdefgh' },
  {
    name: 'IBM Cloud',
    providerId: 'ibm://1234567890abc///c1a2b3/kube-c1a2b3-default-00000123',
    instance: 'kube-c1a2b3-default-00000123',
  },
  {
    name: 'IBM Power',
    providerId: 'ibmpowervs://lon/lon04/5d1c-svc/9a8b-instance',
    instance: '9a8b-instance',
  },
  { name: 'DigitalOcean', providerId: 'digitalocean://123456789', instance: '123456789' },
  { name: 'Hetzner Cloud', providerId: 'hcloud://12345678', instance: '12345678' },
  { name: 'Linode', providerId: 'linode://87654321', instance: '87654321' },
  {
    name: 'Scaleway',
    providerId: 'scaleway://instance/fr-par-1/11111111-2222-4333-8444-555555555555',
    instance: '11111111-2222-4333-8444-555555555555',
  },
  {
    name: 'Equinix Metal',
    providerId: 'equinixmetal://21111111-2222-4333-8444-555555555555',
    instance: '21111111-2222-4333-8444-555555555555',
  },
  {
    name: 'Nutanix',
    providerId: 'nutanix://31111111-2222-4333-8444-555555555555',
    instance: '31111111-2222-4333-8444-555555555555',
  },
  {
    name: 'UpCloud',
    providerId: 'upcloud:////41111111-2222-4333-8444-555555555555',
    instance: '41111111-2222-4333-8444-555555555555',
  },
  { name: 'Proxmox', providerId: 'proxmox://region-1/101', instance: '101' },
  { name: 'Metal3', providerId: 'metal3://metal3/host-0/machine-0', instance: 'machine-0' },
  {
    name: 'OpenShift bare metal',
    providerId:
      'baremetalhost:///openshift-machine-api/host-0/51111111-2222-4333-8444-555555555555',
    instance: '51111111-2222-4333-8444-555555555555',
  },
  { name: 'kind', providerId: 'kind://docker/kind/kind-worker', instance: 'kind-worker' },
  { name: 'Cluster API for Docker', providerId: 'docker:////capd-worker', instance: 'capd-worker' },
  { name: 'kwok', providerId: 'kwok://kwok-node-0', instance: 'kwok-node-0' },
  {
    name: 'k3s',
    providerId: 'k3s://edge-1',
    instance: 'edge-1',
    notCalled: ['aws:///us-east-1a/edge-1', 'rke2://edge-1'],
    // The node is an instance of some cloud, and k3s calls it by the name of the node.
    told: [
      ['aws', 'i-0123456789abcdef9', true],
      ['azure', 'vm-9', true],
      ['gcp', 'vm-9', true],
    ],
  },
  {
    name: 'something else, without a scheme',
    providerId: 'rack-7/unit-3',
    alsoCalled: [],
    notCalled: ['unit-3'],
  },
];
