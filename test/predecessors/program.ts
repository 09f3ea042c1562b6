import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import type { Old } from './old.ts';
import { harnessIn, type OldOperator } from './predecessor.ts';

/**
 * Lines with which the older operators say that a pass has failed for another reason than a pod
 * that cannot go.
 */
const complaint = /Reconciler error|error stopping node maintenance|Failed to|panic/;

/**
 * The webhook server of these operators does not start without a certificate; nobody asks it
 * anything here.
 */
function certificates(controlPlane: ControlPlane, folder: string): void {
  const target = join(folder, 'k8s-webhook-server', 'serving-certs');
  mkdirSync(target, { recursive: true });
  for (const [from, to] of [
    ['server.crt', 'tls.crt'],
    ['server.key', 'tls.key'],
  ] as const) {
    cpSync(join(controlPlane.folder, from), join(target, to));
  }
}

/** The real operator, from a program that somebody has built. */
function realOne(controlPlane: ControlPlane, old: Old, command: string): OldOperator {
  let running: Running | undefined;
  let from = 0;
  const log = (): string =>
    running !== undefined && existsSync(running.logFile)
      ? readFileSync(running.logFile, 'utf8')
      : '';
  return {
    idleAfterMs: 4000,
    start: async () => {
      const folder = join(controlPlane.folder, old.name);
      certificates(controlPlane, folder);
      const [port = 0] = await freePorts(1);
      from = log().length;
      running = controlPlane.run({
        name: old.name,
        command,
        args: [
          '--leader-elect=false',
          '--metrics-bind-address=0',
          `--health-probe-bind-address=127.0.0.1:${port}`,
          `--kubeconfig=${controlPlane.kubeconfig}`,
        ],
        environment: { TMPDIR: folder },
      });
      await until(
        `${old.name} to be ready`,
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200,
      );
    },
    stop: async () => running?.stop(),
    errors: () =>
      log()
        .slice(from)
        .split('\n')
        .filter(line => complaint.test(line)),
  };
}

/**
 * `DRYDOCK_TEST_PREDECESSORS=medik8s-main=PROGRAM,…` puts real operators in the place of the
 * stand-in.
 */
const programs = (process.env['DRYDOCK_TEST_PREDECESSORS'] ?? '')
  .split(',')
  .filter(pair => pair !== '');

export const hasReal = programs.length > 0;

function programOf(old: Old): string | undefined {
  return programs.map(pair => pair.split('=')).find(([name]) => name === old.name)?.[1];
}

export function oldOperator(controlPlane: ControlPlane, old: Old): OldOperator {
  const program = programOf(old);
  return program === undefined
    ? harnessIn(controlPlane.api, old)
    : realOne(controlPlane, old, program);
}
