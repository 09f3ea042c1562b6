import { readFileSync } from 'node:fs';
import { plainOutput } from './shared/output.ts';

/** systemd(1): starts reboot.target, as `systemctl reboot` does. Node has no name for it. */
const rebootSignal = 39;

/** The node is going down, and takes this process with it; else nothing has come of it. */
const patienceMs = 600_000;

/** The first process of the node, as its kernel calls it. */
const firstProcess = (): string => readFileSync('/proc/1/comm', 'utf8').trim();

/**
 * Tells systemd, the first process of the node, to reboot, and waits for the end. It runs in the pod of a plan with `work.reboot`, in the PID namespace of the node.
 * Throws when another program is the first process: that one may take the signal for something else.
 */
export const rebootNode = async (): Promise<void> => {
  const first = firstProcess();
  if (first !== 'systemd') {
    throw new Error(
      `process 1 is ${first}, not systemd, so nothing was done: let a job reboot the node (work.job with rebootsNode), or somebody else (work.external)`,
    );
  }
  plainOutput.line('telling systemd to reboot this node');
  process.kill(1, rebootSignal);
  await new Promise<void>((resolve, reject) => {
    const late = (): void => reject(new Error(`systemd has not rebooted the node within ${patienceMs / 1000} s`));
    const timer = setTimeout(late, patienceMs);
    // Whoever shuts the node down does not have to wait for this.
    process.once('SIGTERM', () => {
      clearTimeout(timer);
      resolve();
    });
  });
};
