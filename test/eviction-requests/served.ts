import { wantedRelease } from '../control-plane/releases.ts';

/** The control plane that tests run on has the kinds of lifecycle.k8s.io, behind a gate. */
export const hasLifecycle =
  wantedRelease().minor >= 37 && process.env['DRYDOCK_TEST_CLUSTER'] !== 'embedded';

/** Opens it. */
export const lifecycleFlags = {
  'kube-apiserver': [
    '--feature-gates=EvictionRequestAPI=true',
    '--runtime-config=lifecycle.k8s.io/v1alpha1=true',
  ],
} as const;
