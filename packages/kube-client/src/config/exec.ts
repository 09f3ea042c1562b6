import type { Clock, Env, Log } from '@drydock/utils';
import { isDefect } from '@drydock/utils';
import { textOf } from '../http/connection-error.ts';
import type { CredentialFields, CredentialSource } from '../http/credentials.ts';
import { type ExecCredential, readExecCredential } from './exec-credential.ts';
import { runProgram } from './exec-plugin.ts';
import type { ExecConfig } from './kubeconfig.ts';

/** Options for running a credential program. */
export type ExecOptions = {
  readonly config: ExecConfig;
  /** Cluster info for `provideClusterInfo`: `spec.cluster` of KUBERNETES_EXEC_INFO. */
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly env: Env;
  /** Whether a user sits at the terminal and may be prompted for a password. */
  readonly interactive: boolean;
  readonly clock: Clock;
  readonly log: Log;
};

/** Minimum time between two runs that a 401 causes, in milliseconds. */
const minLifeMs = 10_000;
/** Time limit of a run without a terminal, in milliseconds; a program that takes longer hangs. */
const maxRunMs = 60_000;

/**
 * Credentials from a program (client.authentication.k8s.io/v1 and v1beta1,
 * kubernetes.io/docs/reference/access-authn-authz/authentication, "client-go credential plugins").
 * The program runs once for all waiting calls, again shortly before its credentials expire (they
 * stay in use meanwhile), and after a 401. Rejects with the program's own error and the
 * kubeconfig's installHint.
 */
export class ExecSource implements CredentialSource {
  readonly #options: ExecOptions;
  #credential: ExecCredential | undefined;
  #gotAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #running: Promise<ExecCredential> | undefined;

  constructor(options: ExecOptions) {
    this.#options = options;
  }

  async read(): Promise<CredentialFields> {
    const credential = this.#credential;
    const now = this.#nowMs();
    if (credential === undefined || now >= credential.expiresAtMs) return (await this.#run()).part;
    if (now >= this.#renewAtMs(credential) && now - this.#triedAtMs >= minLifeMs)
      void this.#runEarly();
    return credential.part;
  }

  renew(): void {
    if (this.#running === undefined && this.#nowMs() - this.#gotAtMs >= minLifeMs)
      this.#credential = undefined;
  }

  /**
   * Returns the time of renewal: a minute before expiry, or when a fifth of a short lifetime is
   * left.
   */
  #renewAtMs({ expiresAtMs }: ExecCredential): number {
    return expiresAtMs - Math.min(60_000, (expiresAtMs - this.#gotAtMs) / 5);
  }

  async #runEarly(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      this.#options.log.warn(
        'failed to renew credentials early; using the previous ones until they expire',
        { error: textOf(error) },
      );
    }
  }

  #run(): Promise<ExecCredential> {
    this.#triedAtMs = this.#nowMs();
    this.#running ??= this.#ask().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ask(): Promise<ExecCredential> {
    const { config } = this.#options;
    try {
      const output = await runProgram({
        command: config.command,
        args: config.args ?? [],
        env: this.#environment(),
        terminal: this.#isInteractive(),
        longestMs: maxRunMs,
      });
      this.#credential = readExecCredential(output, config.apiVersion);
      this.#gotAtMs = this.#nowMs();
      return this.#credential;
    } catch (error) {
      if (isDefect(error)) throw error;
      const hint = config.installHint === undefined ? '' : `\n${config.installHint.trim()}`;
      throw new Error(
        `the credential program ${config.command} of the kubeconfig gave none: ${textOf(error)}${hint}`,
        { cause: error },
      );
    }
  }

  #isInteractive(): boolean {
    const { config, interactive } = this.#options;
    if (config.interactiveMode === 'Always' && !interactive) {
      throw new Error(
        'it must ask a person (interactiveMode: Always), and there is no terminal; log in at a terminal first',
      );
    }
    return interactive && config.interactiveMode !== 'Never';
  }

  #environment(): Env {
    const { config, cluster, env } = this.#options;
    const spec = {
      interactive: this.#isInteractive(),
      ...(config.provideClusterInfo === true ? { cluster } : {}),
    };
    const own = Object.fromEntries((config.env ?? []).map(({ name, value }) => [name, value]));
    const info = JSON.stringify({ kind: 'ExecCredential', apiVersion: config.apiVersion, spec });
    return { ...env, ...own, KUBERNETES_EXEC_INFO: info };
  }

  #nowMs(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}
