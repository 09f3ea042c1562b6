import { readFileSync } from 'node:fs';
import { plainOutput } from './shared/output.ts';

/**
 * Signal of systemd(1) that starts reboot.target, as `systemctl reboot` does. Node has no name for
 * it.
 */
const rebootSignal = 39;

/**
 * Milliseconds to wait for the node to go down, which ends this process too; after that the reboot
 * has failed.
 */
const patienceMs = 600_000;

/** Returns the name of the node's first process, from its kernel. */
function firstProcess(): string {
  return readFileSync('/proc/1/comm', 'utf8').trim();
}

/**
 * Requests a reboot from systemd, the first process of the node, and waits for the end. Runs in the
 * pod of a plan with `work.reboot`, in the PID namespace of the node. Throws when another program
 * is the first process, because the signal may mean something else to it.
 */
export async function rebootNode(): Promise<void> {
  const first = firstProcess();
  if (first !== 'systemd') {
    throw new Error(
      `process 1 is ${first}, not systemd, so nothing was done: let a job reboot the node (work.job with rebootsNode), or somebody else (work.external)`,
    );
  }
  plainOutput.line('telling systemd to reboot this node');
  process.kill(1, rebootSignal);
  await new Promise<void>((resolve, reject) => {
    const late = (): void =>
      reject(new Error(`systemd has not rebooted the node within ${patienceMs / 1000} s`));
    const timer = setTimeout(late, patienceMs);
    // A shutdown of the node need not wait for this process.
    process.once('SIGTERM', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
