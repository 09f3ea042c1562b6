import { join } from 'node:path';
import { run } from '../../test/control-plane/processes/command.ts';
import type { ControlPlane } from '../../test/control-plane/types.ts';
import type { Contender } from './contender.ts';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'packages', 'cli', 'src', 'main.mjs');
const maxLength = 30 * 60_000;

/** `drydock drain` as people use it: one process for all nodes, its start included. */
export function drain(controlPlane: ControlPlane): Contender {
  return {
    name: 'drain',
    user: 'drain',
    drain: async nodes => {
      const flags = [
        '--ignore-daemonsets',
        '--delete-emptydir-data',
        '--force',
        '--kubeconfig',
        controlPlane.kubeconfigOf('drain'),
      ];
      const { code, stderr } = await run(process.execPath, [main, 'drain', ...nodes, ...flags], {
        cwd: root,
        timeoutMs: maxLength,
      });
      if (code !== 0)
        throw new Error(
          `drydock drain ${nodes.join(' ')}: exit code ${code}\n${stderr.slice(-2000)}`,
        );
    },
    release: async () => {},
    stop: async () => {},
  };
}
