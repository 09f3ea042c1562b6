import { join } from 'node:path';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { type Blow, Proxy } from './proxy.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Keeps one operator running behind a proxy: kills it where it was told to, with SIGKILL, and
 * starts it again as a kubelet would.
 */
export class Keeper implements AsyncDisposable {
  readonly #controlPlane: ControlPlane;
  readonly #proxy: Proxy;
  #kubeconfig = '';
  #operator: Running | undefined;
  #pid = 0;
  #starts = 0;
  #again: Promise<void> = Promise.resolve();
  /** The write at which the last blow fell; undefined when it has not. */
  struck: string | undefined;

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#proxy = new Proxy(controlPlane.accessOf('drydock'), write => this.#kill(write));
  }

  static async start(controlPlane: ControlPlane): Promise<Keeper> {
    const keeper = new Keeper(controlPlane);
    const server = await keeper.#proxy.listen();
    keeper.#kubeconfig = writeKubeconfig(
      join(controlPlane.folder, 'killed.kubeconfig'),
      'drydock',
      { server },
      'drydock-system',
    );
    await keeper.#start();
    return keeper;
  }

  /** Counts the writes from one again, and lets the blow fall on one of them. */
  arm(blow: Blow | undefined): void {
    this.struck = undefined;
    this.#proxy.arm(blow);
  }

  /**
   * The blow has fallen, if it was to fall on anything that has been asked until now, and an
   * operator runs again.
   */
  async settled(): Promise<void> {
    await until('no write to be under way', async () => this.#proxy.quiet, { everyMs: 2 });
    await this.#again;
    if (this.#operator?.alive() !== true)
      throw new Error(`the operator has ended by itself:\n${this.log()}`);
  }

  /** What has been written since it was armed. */
  get writes(): readonly string[] {
    return this.#proxy.writes;
  }

  log(): string {
    return this.#operator?.tail(30) ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#again.catch(() => {});
    await this.#operator?.stop();
    await this.#proxy[Symbol.asyncDispose]();
  }

  #kill(write: string): void {
    process.kill(this.#pid, 'SIGKILL');
    this.struck = write;
    this.#again = this.#startAgain();
    // Told to whoever waits for it in `settled`.
    this.#again.catch(() => {});
  }

  async #startAgain(): Promise<void> {
    await this.#operator?.ended;
    this.#proxy.reopen();
    await this.#start();
  }

  async #start(): Promise<void> {
    this.#starts += 1;
    this.#operator = this.#controlPlane.run({
      name: `operator-${this.#starts}`,
      command: process.execPath,
      args: [
        join(root, 'packages', 'cli', 'src', 'main.mjs'),
        'operator',
        `--kubeconfig=${this.#kubeconfig}`,
        '--metrics-bind-address=0',
        '--health-probe-bind-address=0',
        '--zap-log-level=debug',
        '--eviction-requests=Auto',
      ],
      cwd: root,
    });
    this.#pid = await this.#operator.pid();
  }
}
