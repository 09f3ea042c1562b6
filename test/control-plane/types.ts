import type { SimulatedKubeVirt } from '@drydock/kube-sim/kubevirt';
import type { Audit } from './audit.ts';
import type { Access, Api } from './objects/api.ts';
import type { CommandOptions, Outcome } from './processes/command.ts';
import type { Program, Running } from './processes/process.ts';
import type { ComponentName } from './programs.ts';
import type { Release } from './releases.ts';
import type { Identity } from './users.ts';

export type Options = {
  /**
   * Of Kubernetes; the one that DRYDOCK_TEST_KUBERNETES names, or else the newest, when left out.
   */
  readonly release?: Release;
  /** Writes an audit log, to count who asked what. */
  readonly audit?: boolean;
  /**
   * More flags for components, for example `{ 'kube-apiserver': ['--feature-gates=X=true',
   * '--runtime-config=api/beta=true'] }`.
   */
  readonly flags?: Readonly<Partial<Record<ComponentName, readonly string[]>>>;
  /**
   * More users, each with its groups; one without groups may do nothing until a role says
   * otherwise.
   */
  readonly users?: Readonly<Record<string, readonly string[] | Identity>>;
  /** Components that are not started. */
  readonly without?: readonly ComponentName[];
  /**
   * Lets API servers of others stand behind this one: without it they would not believe who asks.
   * The embedded cluster has a simulated KubeVirt then.
   */
  readonly aggregation?: boolean;
  /**
   * An address of this machine on which the API server listens for real nodes, instead of
   * 127.0.0.1; their pods get service accounts.
   */
  readonly address?: string;
  /** The embedded cluster has these from its start; no other can be given any. */
  readonly objects?: Iterable<{ readonly [key: string]: unknown }>;
};

type KubectlOptions = CommandOptions & { readonly user?: string };

export interface ControlPlane {
  readonly kind: 'started';
  /**
   * Another one's cluster (`DRYDOCK_TEST_KUBECONFIG`): one user, no audit log, components out of
   * reach.
   */
  readonly external: boolean;
  /** Everything that belongs to this control plane; removed when it stops. */
  readonly folder: string;
  readonly server: string;
  /** Of the admin. */
  readonly kubeconfig: string;
  /** As the admin. */
  readonly api: Api;
  /**
   * Address and credentials of a user: `admin`, `drydock`, `floor`, `kubectl`, `observer` (all
   * system:masters) or one of the options.
   */
  accessOf(user: string): Access;
  /** Path of a kubeconfig for a user. */
  kubeconfigOf(user: string): string;
  /** A client for a user. */
  apiOf(user: string, sockets?: number): Api;
  /** Runs kubectl, as the admin unless told otherwise. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<Outcome>;
  /** Path of kubectl, or its name where there is none. */
  readonly kubectlPath: string;
  /** For the option `skip` of tests that are about kubectl: why there is none, or false. */
  readonly lacksKubectl: string | false;
  /** Where there is none, an exception: the control plane has to be started with `audit: true`. */
  readonly audit: Audit;
  /** For tests that take one away or freeze it. */
  component(name: ComponentName): Running;
  /**
   * Ends a component and starts it again with the same flags; of the API server, waits until it is
   * ready.
   */
  restart(name: ComponentName): Promise<void>;
  /**
   * Ends everything and starts another release of Kubernetes on the same data, at the same address;
   * waits until the API server is ready.
   */
  upgrade(release: Release): Promise<void>;
  /**
   * Ends everything, does this while nothing runs, and starts all of it again; waits until the API
   * server is ready.
   */
  whileDown(work: () => void): Promise<void>;
  /** What the embedded cluster has in the place of KubeVirt's parts, where it was asked for. */
  readonly simulatedKubeVirt?: SimulatedKubeVirt;
  /** Runs a program that ends at the latest with this process: its log is in the folder. */
  run(program: Program): Running;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Why there is no control plane, for the tests to say loudly. */
export type LeftOut = { readonly kind: 'left-out'; readonly why: string };
