import { spawn } from 'node:child_process';
import { createSecureContext } from 'node:tls';
import { type Clock, type Env, isDefect, type Log } from '@drydock/utils';
import { type CredentialFields, type CredentialSource, textOf } from '../http/credentials.ts';
import type { ExecConfig } from './kubeconfig.ts';

/** Credentials from a credential program. */
type ExecCredential = {
  readonly part: CredentialFields;
  /**
   * Time of expiry in epoch milliseconds. Infinity when the program gives none: valid until the
   * server rejects them or the process ends.
   */
  readonly expiresAtMs: number;
};

type Raw = {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
};

/**
 * Reads the ExecCredential on a program's standard output. Throws, with a text for users, when the
 * output is not an ExecCredential or has another version.
 */
function readExecCredential(output: string, apiVersion: string): ExecCredential {
  const raw = parse(output);
  if (raw.kind !== 'ExecCredential')
    throw new Error(`it printed kind ${String(raw.kind)}, not ExecCredential`);
  if (raw.apiVersion !== apiVersion)
    throw new Error(
      `it printed ${String(raw.apiVersion)} where the kubeconfig asks for ${apiVersion}`,
    );
  const {
    token,
    clientCertificateData: cert,
    clientKeyData: key,
    expirationTimestamp,
  } = raw.status ?? {};
  if (token === undefined && cert === undefined)
    throw new Error('it printed neither a token nor a client certificate');
  if ((cert === undefined) !== (key === undefined))
    throw new Error('it printed a client certificate without its key, or a key alone');
  if (cert !== undefined && key !== undefined) createSecureContext({ cert, key });
  return {
    part: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
    expiresAtMs:
      expirationTimestamp === undefined
        ? Number.POSITIVE_INFINITY
        : Temporal.Instant.from(expirationTimestamp).epochMilliseconds,
  };
}

function parse(output: string): Raw {
  try {
    return JSON.parse(output) as Raw;
  } catch (error) {
    throw new Error('it did not print JSON', { cause: error });
  }
}

/** A credential program to run. */
type ExecPlugin = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Env;
  /** Whether the program may use the terminal; then no time limit applies. */
  readonly terminal: boolean;
  /**
   * Time limit in milliseconds for a program without a terminal; the program is killed after that.
   */
  readonly longestMs: number;
};

/**
 * Runs a program and returns its standard output. Rejects with its standard error when it does not
 * exit with 0.
 */
function runProgram({ command, args, env, terminal, longestMs }: ExecPlugin): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...env },
      stdio: [terminal ? 'inherit' : 'ignore', 'pipe', terminal ? 'inherit' : 'pipe'],
      ...(terminal ? {} : { timeout: longestMs, killSignal: 'SIGKILL' as const }),
    });
    const output: Buffer[] = [];
    const complaints: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk));
    child.once('error', error => reject(error));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(output).toString('utf8'));
      const complaint = Buffer.concat(complaints).toString('utf8').trim().slice(0, 2000);
      reject(
        new Error(
          `it ended with ${signal ?? `exit code ${code}`}${complaint === '' ? '' : `: ${complaint}`}`,
        ),
      );
    });
  });
}

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
