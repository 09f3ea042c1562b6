import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBinaries } from './binaries.ts';
import { makeFolder } from './folder.ts';
import { accessFrom } from './kubeconfig.ts';
import { clientsFor } from './objects/api.ts';
import { run } from './processes/command.ts';
import { type Running, start } from './processes/process.ts';
import type { ControlPlane } from './types.ts';

function outOfReach(what: string): never {
  throw new Error(`${what} is out of reach in the cluster of DRYDOCK_TEST_KUBECONFIG`);
}

/** Somebody's cluster, with kwok in it. Everyone is the user of the kubeconfig. */
export async function externalControlPlane(kubeconfig: string): Promise<ControlPlane> {
  const binaries = await ensureBinaries(undefined, { kwok: false });
  const kubectlPath = binaries.kind === 'ready' ? binaries.kubectl : 'kubectl';
  const view = await run(kubectlPath, [
    '--kubeconfig',
    kubeconfig,
    'config',
    'view',
    '--raw',
    '--flatten',
    '--minify',
    '-o',
    'json',
  ]);
  if (view.code !== 0) throw new Error(`DRYDOCK_TEST_KUBECONFIG=${kubeconfig}: ${view.stderr}`);
  const access = accessFrom(view.stdout);
  const folder = makeFolder();
  const file = join(folder.path, 'kubeconfig');
  copyFileSync(kubeconfig, file);
  const { apiOf, close: closeClients } = clientsFor(() => access);
  const programs: Running[] = [];
  const stop = async (): Promise<void> => {
    closeClients();
    await Promise.all(programs.map(program => program.stop()));
    folder.remove();
  };
  return {
    kind: 'started',
    external: true,
    folder: folder.path,
    server: access.server,
    kubeconfig: file,
    api: apiOf('admin'),
    accessOf: () => access,
    kubeconfigOf: () => file,
    apiOf,
    kubectl: (args, { user: _user, ...rest } = {}) =>
      run(kubectlPath, ['--kubeconfig', file, ...args], rest),
    kubectlPath,
    lacksKubectl: false,
    audit: { mark: () => outOfReach('the audit log'), since: () => outOfReach('the audit log') },
    component: name => outOfReach(name),
    restart: name => outOfReach(name),
    upgrade: ({ version }) => outOfReach(version),
    whileDown: () => outOfReach('etcd'),
    run: program => {
      if (binaries.kind !== 'ready')
        return outOfReach('attend, which needs Go to be built, for a program');
      const running = start({ kind: 'attend', path: binaries.attend }, folder.path, program);
      programs.push(running);
      return running;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
