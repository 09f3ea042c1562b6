import type { ControlPlane } from '../../test/control-plane/types.ts';
import type { Contender } from './contender.ts';

const maxLength = 30 * 60_000;

async function drainOne(controlPlane: ControlPlane, node: string): Promise<void> {
  const args = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--force'];
  const { code, stderr } = await controlPlane.kubectl(args, {
    user: 'kubectl',
    timeoutMs: maxLength,
  });
  if (code !== 0)
    throw new Error(`kubectl drain ${node}: exit code ${code}\n${stderr.slice(-2000)}`);
}

/**
 * `kubectl drain` as people use it; several nodes are one process each, all at once (one process
 * would take them one after the other).
 */
export function kubectl(controlPlane: ControlPlane): Contender {
  return {
    name: 'kubectl',
    user: 'kubectl',
    drain: async nodes => {
      await Promise.all(nodes.map(node => drainOne(controlPlane, node)));
    },
    release: async () => {},
    stop: async () => {},
  };
}
