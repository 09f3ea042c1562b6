import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Api } from '../../control-plane/objects/api.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import { drydock } from '../harness/harness.ts';
import { isRehearsal } from './plan-work.ts';

/**
 * Pods that rehearse plans: kwok runs them, and what their containers do is done here, with the
 * rights of their account.
 */

type Pod = {
  readonly metadata: Metadata;
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly { readonly args?: readonly string[] }[];
  };
  readonly status?: { readonly phase?: string };
};

/** Where they are. */
export const rehearsalPods = '/api/v1/namespaces/drydock-plans/pods';

/** Does what the containers of rehearsals do, until it is stopped. */
export class Rehearsals {
  readonly #api: Api;
  readonly #kubeconfig: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'drydock-test-rehearsals-'));
  readonly #seen = new Set<string>();
  readonly #loop: Promise<void>;
  #stopped = false;

  constructor(api: Api, kubeconfig: string) {
    this.#api = api;
    this.#kubeconfig = kubeconfig;
    this.#loop = this.#run();
  }

  get count(): number {
    return this.#seen.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    rmSync(this.#folder, { recursive: true });
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const { items } = await this.#api.get<List<Pod>>(rehearsalPods);
      for (const pod of items) {
        const { name, uid } = pod.metadata;
        if (!isRehearsal(name) || pod.status?.phase !== 'Running' || this.#seen.has(uid)) continue;
        this.#seen.add(uid);
        await this.#rehearse(pod);
      }
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }

  async #rehearse({ metadata, spec }: Pod): Promise<void> {
    const file = join(this.#folder, metadata.uid);
    const args = (spec.containers[0]?.args ?? []).map(arg =>
      arg.replace('/dev/termination-log', file),
    );
    const account = `system:serviceaccount:${metadata.namespace ?? ''}:${spec.serviceAccountName}`;
    const { code, stderr } = await drydock([
      ...args,
      '--seeds=1',
      `--as=${account}`,
      '--kubeconfig',
      this.#kubeconfig,
    ]);
    const state = {
      terminated: {
        exitCode: code,
        message: code === 0 ? readFileSync(file, 'utf8') : stderr.slice(0, 1000),
      },
    };
    const status = {
      phase: code === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        { name: 'rehearse', image: 'x', imageID: '', ready: false, restartCount: 0, state },
      ],
    };
    await this.#api.call(
      'PATCH',
      `${rehearsalPods}/${metadata.name}/status`,
      { status },
      'application/merge-patch+json',
    );
  }
}
