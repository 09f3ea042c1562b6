import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { type OperatorProcess, operatorsOn } from '../operator/harness/harness.ts';
import { main } from '../operator/harness/shipped.ts';
import { assignmentsIn, type Section } from './guide.ts';
import type { OldOperator } from './predecessor.ts';

/**
 * A shell for the steps of docs/migrate.md, and a kubelet for the two Deployments that they are
 * about.
 */

/** A shell in which `kubectl` and `drydock` are those of this control plane. */
export class Shell {
  readonly #controlPlane: ControlPlane;
  readonly #programs: string;
  readonly #unrun = new Set<string>();
  #variables = '';

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#programs = join(controlPlane.folder, 'programs');
    mkdirSync(this.#programs, { recursive: true });
    this.#program('kubectl', `exec '${controlPlane.kubectlPath}' "$@"`);
    this.#program('drydock', `exec '${process.execPath}' '${main}' "$@"`);
  }

  /** From now on the steps of this section are run. */
  open({ variables, ways }: Section): void {
    this.#variables = assignmentsIn(variables);
    assert.notEqual(this.#variables, '');
    for (const { steps } of ways)
      for (const { blocks } of steps) for (const block of blocks) this.#unrun.add(block);
  }

  /** Runs one step of a way and answers what it has printed. */
  async run({ ways }: Section, heading: string, number: number): Promise<string> {
    const step = ways
      .find(way => way.heading === heading)
      ?.steps.find(({ title }) => title.startsWith(`${number}. `));
    assert.ok(
      step !== undefined && step.blocks.length > 0,
      `docs/migrate.md: ${heading} has a step ${number} with commands`,
    );
    const printed: string[] = [];
    for (const block of step.blocks) {
      const { code, stdout, stderr } = await run(
        'sh',
        ['-eu', '-c', `${this.#variables}\n${block}`],
        {
          cwd: this.#controlPlane.folder,
          environment: {
            PATH: `${this.#programs}:${process.env['PATH'] ?? ''}`,
            KUBECONFIG: this.#controlPlane.kubeconfig,
          },
        },
      );
      assert.equal(
        code,
        0,
        `docs/migrate.md, ${heading}, ${step.title}:\n${block}\n${stdout}${stderr}`,
      );
      this.#variables += `\n${assignmentsIn(block)}`;
      this.#unrun.delete(block);
      printed.push(stdout);
    }
    return printed.join('');
  }

  /** Blocks of the opened sections that no test has run. */
  unrun(): readonly string[] {
    return [...this.#unrun];
  }

  #program(name: string, text: string): void {
    const file = join(this.#programs, name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
  }
}

type EnvEntry = {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
};
type Deployment = {
  readonly metadata: { readonly namespace: string };
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly args?: readonly string[];
          readonly env?: readonly EnvEntry[];
        }[];
      };
    };
  };
};

function environmentOf({ metadata, spec }: Deployment): Readonly<Record<string, string>> {
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': 'drydock-0',
    'metadata.namespace': metadata.namespace,
  };
  const [container] = spec.template.spec.containers;
  return Object.fromEntries(
    (container?.env ?? []).map(({ name, value, valueFrom }) => [
      name,
      value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? '',
    ]),
  );
}

/** What would be another thing for a process of this machine: who listens where. */
function isOfPod(arg: string): boolean {
  return /^--(health-probe-bind-address|metrics-bind-address|webhook-.*)=/.test(arg);
}

function flagsOf({ spec }: Deployment): readonly string[] {
  const [, ...args] = spec.template.spec.containers[0]?.args ?? [];
  return [...args.filter(arg => !isOfPod(arg)), '--webhook-port=0'];
}

/** Which Deployment stands for the older operator, and who plays it. */
export type OperatorDeployment = {
  readonly namespace: string;
  readonly name: string;
  readonly operator: OldOperator;
};

/**
 * Runs an operator for as long as its Deployment has replicas: with the arguments and the
 * environment that its pods would have.
 */
export class Kubelet {
  readonly #controlPlane: ControlPlane;
  readonly #done = new AbortController();
  readonly #start: ReturnType<typeof operatorsOn>;
  #working: Promise<void> = Promise.resolve();
  #cast: OperatorDeployment | undefined;
  #oldRuns = false;
  #drydock: OperatorProcess | undefined;
  #failure: unknown;

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#start = operatorsOn(controlPlane);
  }

  begin(): void {
    this.#working = this.#work().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  play(cast: OperatorDeployment): void {
    this.#cast = cast;
  }

  async stop(): Promise<void> {
    this.#done.abort();
    await this.#working;
    if (this.#oldRuns) await this.#cast?.operator.stop();
    if (this.#failure !== undefined)
      throw new Error('the kubelet of the test has failed', { cause: this.#failure });
  }

  async #work(): Promise<void> {
    while (!this.#done.signal.aborted) {
      await this.#look();
      await sleep(50);
    }
  }

  async #look(): Promise<void> {
    const drydock = await this.#deployment('drydock-system', 'drydock');
    if (drydock !== undefined && drydock.spec.replicas > 0) {
      this.#drydock ??= await this.#start({
        flags: flagsOf(drydock),
        environment: environmentOf(drydock),
      });
    } else if (this.#drydock !== undefined) {
      await this.#drydock.running.stop();
      this.#drydock = undefined;
    }
    if (this.#cast === undefined) return;
    const { namespace, name, operator } = this.#cast;
    const wanted = ((await this.#deployment(namespace, name))?.spec.replicas ?? 0) > 0;
    if (wanted && !this.#oldRuns) await operator.start();
    if (!wanted && this.#oldRuns) await operator.stop();
    this.#oldRuns = wanted;
  }

  async #deployment(namespace: string, name: string): Promise<Deployment | undefined> {
    const { status, body } = await this.#controlPlane.api.call(
      'GET',
      `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
    );
    return status === 200 ? (body as Deployment) : undefined;
  }
}
