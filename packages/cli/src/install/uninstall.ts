import { joinLimited } from '@drydock/apimachinery';
import {
  machineMaintenanceApi,
  machineMaintenanceFinalizer,
  machineMaintenancesPath,
} from '@drydock/core/machine';
import { beforeAnnotation } from '@drydock/core/node';
import {
  hasFinalizer,
  type KindAdapter,
  type MaintenanceRequest,
  removal,
} from '@drydock/core/request';
import { type Api, type Connection, listAll } from '@drydock/kube-client';
import { kindsOf } from '@drydock/operator/discovery';
import { type Clock, type Env, systemClock, UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { goDuration, seconds } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { refusedError, requestsOf, titleOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { requireAccess, type Undertaking } from './access.ts';
import { inventoryOf, namespacesOf, operatorsIn, type StoredObject } from './inventory.ts';
import { changeBy, managerOf, Remover, removalBy } from './others.ts';
import {
  accessToUninstall,
  deleteKinds,
  kindsHere,
  leftLines,
  madeByOperator,
} from './uninstall-rest.ts';

/** A MachineMaintenance whose finalizer only an operator removes. */
type StoredMachine = {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly finalizers?: readonly string[];
  };
};

/** Nodes and machines that an operator must release before it is removed. */
type Held = {
  readonly machines: readonly StoredMachine[];
  readonly requests: readonly MaintenanceRequest[];
  /** One line for each held node, and for each maintenance that only an operator can finalize. */
  readonly lines: readonly string[];
};

type StoredNode = {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

/**
 * Returns all maintenances, and the held nodes and machines: by the record on the node, or by
 * Drydock's finalizer.
 */
async function heldOf(api: Api, adapters: readonly KindAdapter[]): Promise<Held> {
  const requests = await requestsOf(api, adapters);
  const nodes = (await listAll(api, '/api/v1/nodes')) as readonly StoredNode[];
  const recorded = nodes
    .filter(({ metadata }) => metadata.annotations?.[beforeAnnotation] !== undefined)
    .map(({ metadata }) => metadata.name);
  const names = [
    ...new Set([...recorded, ...requests.filter(hasFinalizer).map(({ nodeName }) => nodeName)]),
  ].toSorted();
  const lines = names.map(name => {
    const titles = requests.filter(({ nodeName }) => nodeName === name).map(titleOf);
    return `node/${name} held by ${titles.length === 0 ? 'a maintenance that is gone' : joinLimited(titles)}`;
  });
  const machines = (
    (await listAll(api, machineMaintenancesPath, {}, 'empty')) as readonly StoredMachine[]
  ).filter(({ metadata }) => metadata.finalizers?.includes(machineMaintenanceFinalizer) === true);
  const ofMachines = machines.map(
    ({ metadata }) =>
      `MachineMaintenance ${metadata.namespace}/${metadata.name}, which the operator has to let go`,
  );
  return { requests, machines, lines: [...lines, ...ofMachines] };
}

type Waiting = {
  readonly api: Api;
  readonly adapters: readonly KindAdapter[];
  readonly clock: Clock;
  readonly timeoutSeconds: number;
};

async function deleteMachine(
  api: Api,
  { namespace, name, uid }: StoredMachine['metadata'],
): Promise<void> {
  const path = `/apis/${machineMaintenanceApi}/namespaces/${namespace}/machinemaintenances/${name}`;
  const response = await api.call({
    method: 'DELETE',
    path,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
  if (![200, 202, 404].includes(response.status)) throw refusedError(response);
  plainOutput.line(
    `machinemaintenance.${machineMaintenanceApi.split('/')[0] ?? ''}/${name} deleted`,
  );
}

/**
 * Deletes all maintenances and waits until the operator has released every node. Throws when the
 * timeout passes before.
 */
async function releaseAll(
  { api, adapters, clock, timeoutSeconds }: Waiting,
  { requests, machines }: Held,
): Promise<void> {
  // MachineMaintenances first, because they create maintenances.
  for (const { metadata } of machines) await deleteMachine(api, metadata);
  for (const request of requests) {
    const response = await api.call(removal(request));
    if (![200, 202, 404].includes(response.status)) throw refusedError(response);
    plainOutput.line(
      `${request.adapter.kind.toLowerCase()}.${request.adapter.apiVersion.split('/')[0] ?? ''}/${request.name} deleted`,
    );
  }
  const end = clock.now().add({ seconds: timeoutSeconds });
  let lastText = '';
  for (;;) {
    const { lines } = await heldOf(api, adapters);
    if (lines.length === 0) return plainOutput.line('every node is released');
    if (Temporal.Instant.compare(clock.now(), end) >= 0)
      throw new Error(
        `after ${goDuration(timeoutSeconds)} there is still ${joinLimited(lines, 5)}; drydock why NODE says what keeps it, and nothing else has been removed`,
      );
    const text = joinLimited(lines, 5);
    if (text !== lastText) plainOutput.note(`waiting: ${text}`);
    lastText = text;
    await clock.sleep(500);
  }
}

/** Flags of the command line. */
export type UninstallFlags = ConnectionFlags & {
  readonly apply?: boolean;
  readonly namespace: string;
  readonly releaseNodes?: boolean;
  readonly keepHeld?: boolean;
  readonly withKinds?: boolean;
  readonly timeout: string;
};

/**
 * Kinds to remove first: those that direct requests to the operator, and those that run it, before
 * its rights are removed.
 */
const first = [
  'ValidatingWebhookConfiguration',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingAdmissionPolicy',
  'DaemonSet',
  'Deployment',
];

/** Seconds until pods must be gone. */
const patience = 60;

class Uninstallation {
  readonly #connection: Connection;
  readonly #flags: UninstallFlags;
  readonly #dryRun: boolean;
  readonly #remover: Remover;

  constructor(connection: Connection, flags: UninstallFlags) {
    this.#connection = connection;
    this.#flags = flags;
    this.#dryRun = flags.apply !== true;
    this.#remover = new Remover(connection, { dryRun: this.#dryRun, removed: 'deleted' });
  }

  async run(env: Env): Promise<void> {
    const { namespace, withKinds = false } = this.#flags;
    await this.#requireAccess(accessToUninstall(this.#flags));
    const here = await inventoryOf(this.#connection, namespace);
    const made = await madeByOperator(this.#connection, namespace);
    if (
      here.length === 0 &&
      made.length === 0 &&
      !(withKinds && (await kindsHere(this.#connection)).own.length > 0)
    )
      return this.#nothing();
    await this.#requireAccess({
      deleted: [
        ...here,
        ...made,
        ...(withKinds ? (await kindsHere(this.#connection)).own.map(({ crd }) => crd) : []),
      ],
    });
    const held = await this.#released(env);
    const manager = managerOf(here, namespace);
    if (manager !== undefined) throw new Error(removalBy(manager, namespace));
    if (withKinds) await this.#refuseFinalizers();
    const order = here.toReversed();
    const begin = order.filter(({ kind }) => first.includes(kind));
    let failed = await this.#remover.removeAll(begin);
    if (!this.#dryRun) await this.#untilGone(begin);
    const rest = order.filter(({ kind }) => !first.includes(kind));
    const spaces = rest.filter(({ kind }) => kind === 'Namespace');
    failed += await this.#remover.removeAll([
      ...(await madeByOperator(this.#connection, namespace)),
      ...rest.filter(({ kind }) => kind !== 'Namespace'),
      ...spaces,
    ]);
    if (withKinds) failed += await deleteKinds(this.#connection, this.#dryRun);
    for (const line of await leftLines(this.#connection, {
      namespace,
      here,
      held: held.lines,
      withKinds,
    }))
      plainOutput.line(`left: ${line}`);
    if (failed > 0) throw new Error(`${failed} objects could not be deleted; see above`);
    if (this.#dryRun) plainOutput.note('drydock: nothing has been changed; --apply does it');
  }

  /** Checks the rights, except in a dry run, which also shows what is forbidden. */
  async #requireAccess(undertaking: Undertaking): Promise<void> {
    if (!this.#dryRun) await requireAccess(this.#connection, undertaking);
  }

  async #nothing(): Promise<void> {
    const { namespace } = this.#flags;
    const operators = await operatorsIn(this.#connection);
    const elsewhere = namespacesOf(operators).filter(one => one !== namespace);
    const text = `nothing of an installation is in namespace ${namespace}`;
    if (elsewhere.length < namespacesOf(operators).length) {
      const manager = managerOf(operators, namespace);
      const first =
        manager === undefined
          ? `drydock install --namespace ${namespace} --apply`
          : changeBy(manager, namespace);
      throw new Error(
        `the operator in namespace ${namespace} is of a release whose objects have no labels yet, so nobody knows all of them; bring it to this version first (${first}), then do this again`,
      );
    }
    if (elsewhere.length > 0)
      throw new Error(
        `${text}; there is one in ${elsewhere.join(', ')}: --namespace ${elsewhere[0] ?? ''}`,
      );
    plainOutput.line(text);
  }

  /** Returns what is still held, when the flags accept that. Throws otherwise. */
  async #released(env: Env): Promise<Held> {
    const { releaseNodes, keepHeld, timeout } = this.#flags;
    const adapters = await kindsOf(this.#connection, env);
    const held = await heldOf(this.#connection, adapters);
    if (keepHeld === true) return held;
    if (held.lines.length === 0 && releaseNodes !== true) return held;
    if (releaseNodes !== true)
      throw new Error(
        `without an operator nobody gives these back: ${joinLimited(held.lines)}; --release-nodes ends the maintenances first, --keep-held leaves all as it is for the operator that is installed next`,
      );
    const takers = await takersOf(this.#connection);
    if (takers.length > 0) throw new Error(`these would take nodes again: ${joinLimited(takers)}`);
    if (this.#dryRun) {
      for (const line of held.lines) plainOutput.line(`${line}: would be released first (dry run)`);
      return { ...held, lines: [] };
    }
    await releaseAll(
      {
        api: this.#connection,
        adapters,
        clock: systemClock,
        timeoutSeconds: seconds('--timeout', timeout),
      },
      held,
    );
    return { requests: [], machines: [], lines: [] };
  }

  async #refuseFinalizers(): Promise<void> {
    const { own } = await kindsHere(this.#connection);
    const kept = own.flatMap(({ objects, kind }) =>
      objects
        .filter(({ metadata }) => (metadata.finalizers ?? []).length > 0)
        .map(({ metadata }) => `${kind} ${metadata.name}`),
    );
    if (kept.length > 0)
      throw new Error(
        `the operator has to let these go before the kinds can be deleted: ${joinLimited(kept)}; delete them, then do this again`,
      );
  }

  /**
   * Waits until the operator's pods are gone: a running operator still needs its rights to release
   * its lease.
   */
  async #untilGone(workloads: readonly StoredObject[]): Promise<void> {
    const spaces = new Set(
      workloads
        .filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')
        .map(({ metadata }) => metadata.namespace ?? ''),
    );
    const query = { labelSelector: 'app.kubernetes.io/name in (drydock,drydock-agent)' };
    const end = systemClock.now().add({ seconds: patience });
    for (const namespace of spaces)
      while (Temporal.Instant.compare(systemClock.now(), end) < 0) {
        const pods = await listAll(this.#connection, `/api/v1/namespaces/${namespace}/pods`, query);
        if (pods.length === 0) break;
        await systemClock.sleep(500);
      }
  }
}

type Named = {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly phase?: string };
};

function nameIn({ metadata }: Named): string {
  return metadata.name;
}

/** Returns the sources of automatic maintenances, each with the way to stop it. */
async function takersOf(connection: Connection): Promise<readonly string[]> {
  const all = async (plural: string): Promise<readonly Named[]> =>
    (await listAll(
      connection,
      `/apis/drydock.dev/v1alpha1/${plural}`,
      {},
      'empty',
    )) as readonly Named[];
  const plans = (await all('maintenanceplans')).filter(({ status }) =>
    ['Pending', 'Running'].includes(status?.phase ?? ''),
  );
  return [
    ...plans.map(nameIn).map(name => `MaintenancePlan ${name} (drydock plan pause ${name})`),
    ...(await all('machineeventsources'))
      .map(nameIn)
      .map(name => `MachineEventSource ${name} (kubectl delete machineeventsource ${name})`),
  ];
}

/**
 * `drydock uninstall`: shows what an installation has created, or removes it, and prints what is
 * left. Refuses while nodes are held.
 */
export async function uninstall(flags: UninstallFlags, env: Env): Promise<void> {
  if (flags.keepHeld === true && flags.releaseNodes === true)
    throw new UsageError('--release-nodes and --keep-held cannot be combined');
  if (flags.keepHeld === true && flags.withKinds === true)
    throw new UsageError(
      '--keep-held and --with-kinds cannot be combined: what holds a node is an object of these kinds',
    );
  seconds('--timeout', flags.timeout);
  await withCluster(flags, env, connection => new Uninstallation(connection, flags).run(env));
}
