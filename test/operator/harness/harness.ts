import { join } from 'node:path';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import type { Api } from '../../control-plane/objects/api.ts';
import type { Outcome } from '../../control-plane/processes/command.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';
import type { Running } from '../../control-plane/processes/process.ts';
import type { ControlPlane, Options } from '../../control-plane/types.ts';
import { waitFor } from '../../control-plane/wait.ts';
import {
  drydock,
  forbiddenCalls,
  installShipped,
  type MoreRoles,
  main,
  operatorUsers,
} from './shipped.ts';

export { drydock } from './shipped.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** An operator of its own process, as in a cluster. */
export type OperatorProcess = {
  readonly running: Running;
  readonly health: string;
  readonly metrics: string;
};

type OperatorOptions = {
  /**
   * As whom it works: who did what is told apart by the user in the audit log. Both may do what the
   * shipped roles say.
   */
  readonly user?: keyof typeof operatorUsers;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Another program than that of the sources. */
  readonly program?: string;
};

/** A control plane with the served kinds and the shipped roles installed. */
export type OperatorHarness = {
  readonly kind: 'ready';
  readonly controlPlane: ControlPlane;
  readonly api: Api;
  /** For the option `skip` of tests that are about kubectl. */
  readonly lacksKubectl: string | false;
  /** Resolves when it is ready: its caches are filled, or it stands by. */
  startOperator(options?: OperatorOptions): Promise<OperatorProcess>;
  /** Runs a command of drydock to its end, against this control plane. */
  drydock(...args: readonly string[]): Promise<Outcome>;
  /** Rejects when the operator has asked for anything that no shipped role allows. */
  stop(): Promise<void>;
};

function untilReady(running: Running, health: string): Promise<void> {
  return waitFor(
    'the operator to be ready',
    async () => {
      if (!running.alive()) return { yet: `it has ended:\n${running.tail()}` };
      const { status } = await fetch(`${health}/readyz`);
      return status === 200
        ? { done: undefined }
        : { yet: `readyz says ${status}:\n${running.tail(5)}` };
    },
    { deadlineMs: 60_000 },
  );
}

/** Starts operators on a control plane that has the roles for them. */
export function operatorsOn(controlPlane: ControlPlane): OperatorHarness['startOperator'] {
  let count = 0;
  return async ({ user = 'drydock', flags = [], environment = {}, program = main } = {}) => {
    count += 1;
    const [healthPort = 0, metricsPort = 0] = await freePorts(2);
    const binds = [
      `--health-probe-bind-address=127.0.0.1:${healthPort}`,
      `--metrics-bind-address=127.0.0.1:${metricsPort}`,
    ];
    const running = controlPlane.run({
      name: `operator-${count}`,
      command: process.execPath,
      args: [
        program,
        'operator',
        '--kubeconfig',
        controlPlane.kubeconfigOf(user),
        ...binds,
        ...flags,
      ],
      cwd: root,
      patience: '10s',
      environment,
    });
    const health = `http://127.0.0.1:${healthPort}`;
    await untilReady(running, health);
    return { running, health, metrics: `http://127.0.0.1:${metricsPort}/metrics` };
  };
}

/** Starts a control plane with an audit log, or says why there is none. */
export async function startHarness({
  users = {},
  roles = [],
  ...more
}: Pick<Options, 'aggregation' | 'users' | 'release' | 'flags' | 'objects'> & {
  readonly roles?: MoreRoles;
} = {}): Promise<OperatorHarness | { readonly kind: 'left-out'; readonly why: string }> {
  const controlPlane = await startControlPlane({
    audit: true,
    users: { ...operatorUsers, ...users },
    ...more,
  });
  if (controlPlane.kind === 'left-out') return controlPlane;
  if (controlPlane.external) {
    await controlPlane.stop();
    return {
      kind: 'left-out',
      why: 'the cluster of DRYDOCK_TEST_KUBECONFIG has no audit log and may have an operator of its own',
    };
  }
  try {
    await installShipped(controlPlane, roles);
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return {
    kind: 'ready',
    controlPlane,
    api: controlPlane.api,
    lacksKubectl: controlPlane.lacksKubectl,
    startOperator: operatorsOn(controlPlane),
    drydock: (...args) => drydock([...args, '--kubeconfig', controlPlane.kubeconfig]),
    stop: async () => {
      const forbidden = await forbiddenCalls(controlPlane);
      await controlPlane.stop();
      if (forbidden.length > 0)
        throw new Error(
          `the shipped roles are not enough for the operator:\n${forbidden.join('\n')}`,
        );
    },
  };
}

/** For the option `skip` of tests: the reason why they cannot run, or false. */
export function skipOf(harness: Awaited<ReturnType<typeof startHarness>>): string | false {
  return harness.kind === 'left-out' ? `control plane left out: ${harness.why}` : false;
}
