import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Api } from '../control-plane/objects/api.ts';
import { apply } from '../control-plane/objects/cluster.ts';
import type { Condition, List } from '../control-plane/objects/objects.ts';
import { run } from '../control-plane/processes/command.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { waitFor } from '../control-plane/wait.ts';

/** What it takes to have somebody else's controllers and webhooks beside a control plane. */

/** The folder of a module's sources, for the manifests among them. */
export async function sourcesOf(module: string, dependency: string): Promise<string> {
  const { code, stdout, stderr } = await run('go', ['list', '-m', '-f', '{{.Dir}}', dependency], {
    cwd: module,
  });
  if (code !== 0) throw new Error(`go list -m ${dependency} ended with ${code}: ${stderr}`);
  return stdout.trim();
}

/** Documents of YAML files, in their order. */
export function documentsIn(...files: readonly string[]): readonly unknown[] {
  return files
    .flatMap(file =>
      parseAllDocuments(readFileSync(file, 'utf8')).map(document => document.toJS() as unknown),
    )
    .filter(Boolean);
}

/** Applies documents in their order. JSON is YAML. */
export function applyAll(api: Api, documents: readonly unknown[]): Promise<void> {
  return apply(api, documents.map(document => JSON.stringify(document)).join('\n---\n'));
}

/** Waits until the API server serves all kinds. */
export function kindsServed(api: Api): Promise<void> {
  return waitFor('the new kinds to be served', async () => {
    type Definition = {
      readonly metadata: { readonly name: string };
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    const { items } = await api.get<List<Definition>>(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    );
    const isServed = ({ status }: Definition): boolean =>
      status?.conditions?.some(
        ({ type, status }) => type === 'Established' && status === 'True',
      ) === true;
    const missing = items.filter(item => !isServed(item)).map(({ metadata }) => metadata.name);
    return missing.length === 0 ? { done: undefined } : { yet: missing.join(', ') };
  });
}

/** A folder with the certificate of 127.0.0.1 under the names that controller-runtime expects. */
export function certificates(controlPlane: ControlPlane, name: string): string {
  const folder = join(controlPlane.folder, `${name}-certificates`);
  mkdirSync(folder, { recursive: true });
  for (const [from, to] of [
    ['server.crt', 'tls.crt'],
    ['server.key', 'tls.key'],
  ] as const)
    cpSync(join(controlPlane.folder, from), join(folder, to));
  return folder;
}

/** Who signed it, as webhooks have it. */
export function bundle(controlPlane: ControlPlane): string {
  return readFileSync(join(controlPlane.folder, 'ca.crt')).toString('base64');
}

/** Waits until a manager says that it is ready. */
export function managerReady(running: Running, healthPort: number): Promise<void> {
  const gone = new AbortController();
  return waitFor(
    `${running.name} to be ready`,
    async () => {
      if (!running.alive()) gone.abort(new Error(`${running.name} has ended:\n${running.tail()}`));
      if (gone.signal.aborted) return { done: undefined };
      const { status } = await fetch(`http://127.0.0.1:${healthPort}/readyz`);
      return status === 200 ? { done: undefined } : { yet: `readyz says ${status}` };
    },
    { deadlineMs: 60_000 },
  ).then(() => gone.signal.throwIfAborted());
}
