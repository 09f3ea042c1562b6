import type { GoBuild } from '../control-plane/build/go-build.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { ensureController, type LeftOut, otherCluster } from './builds.ts';
import { type Ec2Emulator, startEc2 } from './ec2/ec2.ts';

/** A control plane and an EC2 whose instances can be its nodes. */
export interface Neighbourhood {
  readonly kind: 'started';
  readonly controlPlane: ControlPlane;
  readonly ec2: Ec2Emulator;
  stop(): Promise<void>;
}

/**
 * Starts both, or says why this machine cannot. What is to be built for those who move in is built
 * first.
 */
export async function startNeighbourhood(
  ...builds: readonly GoBuild[]
): Promise<Neighbourhood | LeftOut> {
  const elsewhere = otherCluster();
  if (elsewhere !== undefined) return elsewhere;
  for (const build of builds) {
    const built = await ensureController(build);
    if (built.kind === 'left-out') return built;
  }
  const ec2 = await startEc2();
  if (ec2.kind === 'left-out') return ec2;
  try {
    const controlPlane = await startControlPlane({ audit: true });
    if (controlPlane.kind === 'started') {
      const stop = async (): Promise<void> => {
        await controlPlane.stop();
        await ec2.stop();
      };
      return { kind: 'started', controlPlane, ec2, stop };
    }
    await ec2.stop();
    return controlPlane;
  } catch (error) {
    await ec2.stop();
    throw error;
  }
}
