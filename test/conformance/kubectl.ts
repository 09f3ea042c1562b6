import { join } from 'node:path';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { Access } from '../control-plane/objects/api.ts';
import { run } from '../control-plane/processes/command.ts';
import type { Both } from './both.ts';
import { normalText } from './normal.ts';
import type { Site } from './site.ts';

/** kubectl at one of the two servers. */
export type Kubectl = (
  args: readonly string[],
  input?: string,
) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;

/** kubectl's own cache of what is served must not be shared between the two. */
export function kubectlAt(both: Both, side: 'real' | 'embedded'): Kubectl {
  const access: Access = both.access[side];
  const { folder, kubectlPath } = both.real;
  const kubeconfig = writeKubeconfig(
    join(folder, `conformance-${side}.kubeconfig`),
    'conformance',
    access,
  );
  const cache = join(folder, `kubectl-cache-${side}`);
  return (args, input) =>
    run(kubectlPath, ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args], {
      timeoutMs: 30_000,
      ...(input === undefined ? {} : { input }),
    });
}

const ages = /(?<=\s|^)(\d+[smhd])+(?=\s|$)/gm;

/**
 * What is printed, without what differs from run to run. Columns are as wide as their widest cell,
 * ages among them.
 */
export function printed(text: string, site: Site): string {
  return normalText(text)
    .replaceAll(site.access.server, '<server>')
    .replace(/resourceVersion: "?\d+"?/g, 'resourceVersion: <version>')
    .replace(/"resourceVersion": "\d+"/g, '"resourceVersion": "<version>"')
    .replace(/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}/g, '<time>')
    .replace(ages, '<age>')
    .replace(/ {2,}/g, '  ');
}
