import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { LeftOut } from './builds.ts';
import { type Ec2Emulator, startEc2 } from './ec2/ec2.ts';

/** A control plane and an EC2 whose instances can be its nodes. */
export type Neighbourhood = { readonly kind: 'started'; readonly controlPlane: ControlPlane; readonly ec2: Ec2Emulator };

/** Programs that are no part of Drydock need real processes around them. */
const isReal = (): boolean =>
  (process.env['DRYDOCK_TEST_KUBECONFIG'] ?? '') === '' && process.env['DRYDOCK_TEST_CLUSTER'] !== 'embedded';

/** Starts both, or says why this machine cannot. */
export const startNeighbourhood = async (): Promise<Neighbourhood | LeftOut> => {
  if (!isReal()) return { kind: 'left-out', why: 'controllers of others are tried on the control plane of the tests, not on another cluster' };
  const ec2 = await startEc2();
  if (ec2.kind === 'left-out') return ec2;
  try {
    const controlPlane = await startControlPlane({ audit: true });
    if (controlPlane.kind === 'started') return { kind: 'started', controlPlane, ec2 };
    await ec2.stop();
    return controlPlane;
  } catch (error) {
    await ec2.stop();
    throw error;
  }
};
