import type { MaintenancePlanSpec, MaintenancePlanStatus } from '@drydock/apis/schema';
import type { Api } from '../../control-plane/objects/api.ts';
import { nodePath } from '../../control-plane/objects/cluster.ts';
import { type Manifest, type NodeOptions, node } from '../../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import { type Patience, waitFor } from '../../control-plane/wait.ts';

/**
 * Plans on a real control plane, and whoever plays the work on the nodes: kwok runs the pods, and
 * nothing happens in them.
 */

export type MaintenancePlan = {
  readonly metadata: Metadata;
  readonly spec: MaintenancePlanSpec;
  readonly status?: MaintenancePlanStatus;
};

export function planPath(name: string): string {
  return `/apis/drydock.dev/v1alpha1/maintenanceplans/${name}`;
}

/** For the nodes of this group, with a job that reboots them into the kernel 6.12.9. */
export function plan(
  name: string,
  group: string,
  spec: Partial<MaintenancePlanSpec> = {},
): Manifest {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlan',
    metadata: { name },
    spec: {
      nodeSelector: { matchLabels: { group } },
      due: { expression: "node.status.nodeInfo.kernelVersion != '6.12.9'" },
      work: {
        job: {
          podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
          rebootsNode: true,
          timeoutSeconds: 20,
        },
      },
      template: { maintenance: { drain: { force: true, deleteEmptyDirData: true } } },
      ...spec,
    },
  };
}

const patience: Patience = { deadlineMs: 120_000, everyMs: 100 };

export function untilPlan(
  api: Api,
  name: string,
  what: string,
  isWanted: (status: MaintenancePlanStatus) => boolean,
  more: Patience = patience,
): Promise<MaintenancePlanStatus> {
  return waitFor(
    `plan ${name} to be ${what}`,
    async () => {
      const { status = {} } = await api.get<MaintenancePlan>(planPath(name));
      return isWanted(status) ? { done: status } : { yet: JSON.stringify(status) };
    },
    more,
  );
}

type Environment = readonly { readonly name: string; readonly value?: string }[];
type Pod = {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeName: string;
    readonly containers: readonly { readonly env?: Environment }[];
  };
  readonly status?: { readonly phase?: string };
};

/** A node that is due for the plans made here: it has booted once, into an older kernel. */
export function dueNode(name: string, options: NodeOptions = {}): Manifest {
  return node(name, { kernel: '6.1.0', ...options });
}

/**
 * What the work does on a node: a reboot into a kernel, an exit code without one, or nothing that
 * ever ends.
 */
export type Deed = {
  readonly kernel?: string;
  readonly exitCode?: number;
  readonly hangs?: true;
  /** How long the work takes, and the reboot after it: no time when left out. */
  readonly workMs?: number;
  readonly rebootMs?: number;
};

/** `hook`: the moment of the hook that the pod is of; empty for work. */
type About = { readonly pod: string; readonly hook: string };
export type DeedOf = (node: string, about: About) => Deed;

/** It works on the node: it does not get it ready, and is no hook. */
export function isWork({ pod, hook }: About): boolean {
  return hook === '' && !pod.endsWith('-ready');
}

/** It rehearses a plan, and touches no node. */
export function isRehearsal(pod: string): boolean {
  return /-rehearsal-\d+$/.test(pod);
}

function hookIn({ containers }: Pod['spec']): string {
  return containers[0]?.env?.find(({ name }) => name === 'DRYDOCK_HOOK')?.value ?? '';
}

const space = '/api/v1/namespaces/drydock-plans/pods';

/**
 * Plays the pods of plans: what they do is what `deedOf` says of their node. Counts the pods of the
 * work itself by node.
 */
export class Work {
  readonly counts = new Map<string, number>();
  /** The nodes in the order in which the work has begun on them. */
  readonly begun: string[] = [];
  readonly #api: Api;
  readonly #deedOf: DeedOf;
  readonly #seen = new Set<string>();
  readonly #underWay: Promise<void>[] = [];
  #boots = 0;
  #stopped = false;
  readonly #loop: Promise<void>;

  constructor(api: Api, deedOf: DeedOf = () => ({ kernel: '6.12.9' })) {
    this.#api = api;
    this.#deedOf = deedOf;
    this.#loop = this.#run();
  }

  /** What hangs on a node comes to an end. */
  async end(node: string, deed: Deed): Promise<void> {
    const { items } = await this.#api.get<List<Pod>>(space);
    for (const { metadata, spec } of items)
      if (spec.nodeName === node) await this.#do(metadata.name, node, deed);
  }

  /** One pod comes to an end. */
  async finish(pod: string, deed: Deed): Promise<void> {
    const { spec } = await this.#api.get<Pod>(`${space}/${pod}`);
    await this.#do(pod, spec.nodeName, deed);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const { items } = await this.#api.get<List<Pod>>(space);
      for (const pod of items)
        if (pod.status?.phase === 'Running' && !this.#seen.has(pod.metadata.uid))
          await this.#begin(pod);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }

  async #begin({ metadata, spec }: Pod): Promise<void> {
    const { nodeName } = spec;
    this.#seen.add(metadata.uid);
    if (isRehearsal(metadata.name)) return;
    const about = { pod: metadata.name, hook: hookIn(spec) };
    if (isWork(about)) {
      this.counts.set(nodeName, (this.counts.get(nodeName) ?? 0) + 1);
      this.begun.push(nodeName);
    }
    const deed = this.#deedOf(nodeName, about);
    if (deed.hangs === true) return;
    const done = this.#do(metadata.name, nodeName, deed);
    // What takes time goes on beside that of other nodes.
    if (deed.workMs === undefined && deed.rebootMs === undefined) await done;
    else this.#underWay.push(done);
  }

  async #do(
    pod: string,
    nodeName: string,
    { kernel, exitCode = 0, workMs = 0, rebootMs = 0 }: Deed,
  ): Promise<void> {
    if (workMs > 0) await new Promise(resolve => setTimeout(resolve, workMs));
    const state = {
      terminated: {
        exitCode,
        reason: exitCode === 0 ? 'Completed' : 'Error',
        message: exitCode === 0 ? '' : 'no space left on /boot',
      },
    };
    const status = {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        { name: 'up', image: 'x', imageID: '', ready: false, restartCount: 0, state },
      ],
    };
    await this.#api.call(
      'PATCH',
      `${space}/${pod}/status`,
      { status },
      'application/merge-patch+json',
    );
    if (kernel === undefined) return;
    if (rebootMs > 0) await new Promise(resolve => setTimeout(resolve, rebootMs));
    this.#boots += 1;
    const nodeInfo = { bootID: `boot-${this.#boots}`, kernelVersion: kernel };
    await this.#api.patch(`${nodePath(nodeName)}/status`, { status: { nodeInfo } });
  }
}
