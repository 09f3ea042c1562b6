import type { HostView, VmStatus } from '@drydock/core/vm';
import { defaultServerPolicy, type ServerPolicy } from '@drydock/core/vm';
import {
  type NewServer,
  OpenStack,
  OpenStackApi,
  type OpenStackOptions,
  simulatedEnvironment,
} from '@drydock/kube-sim/nova';
import type { HttpTransport } from '@drydock/utils';
import { silentLog } from '@drydock/utils';
import { quickClock } from '@drydock/utils/testing';
import { environmentConfig, type NovaConfig } from '../config/config.ts';
import {
  HypervisorReconciler,
  type HypervisorReconcilerOptions,
} from '../hypervisor-reconciler.ts';
import { type Nova, openNova } from '../nova.ts';

export function simulatedConfig(authUrl = 'http://openstack.example/identity/v3'): NovaConfig {
  return environmentConfig(simulatedEnvironment(authUrl));
}

/** Every call: who asks, and what; it may refuse to carry it. */
export type Tap = (
  asking: Parameters<HttpTransport>[0],
  carry: () => ReturnType<HttpTransport>,
) => ReturnType<HttpTransport>;

export function makeHarness(options: Partial<Omit<OpenStackOptions, 'clock'>> = {}) {
  const clock = quickClock();
  const cloud = new OpenStack({
    clock,
    hosts: ['compute-1', 'compute-2', 'compute-3'],
    ...options,
  });
  const api = new OpenStackApi(cloud);
  const open = (tap: Tap = (_, carry) => carry()): Nova =>
    openNova(simulatedConfig(), clock, asking => tap(asking, () => api.exchange(asking)));
  const held = new Set<string>();
  const reconciler = (
    more: Partial<HypervisorReconcilerOptions> = {},
    tap?: Tap,
  ): HypervisorReconciler =>
    new HypervisorReconciler({
      nova: open(tap),
      clock,
      log: silentLog,
      touched: () => {},
      held: () => held,
      nodes: () => [...cloud.hosts.keys()].map(name => ({ name })),
      random: () => 0.5,
      ...more,
    });
  const seconds = (): number => clock.now().epochMilliseconds / 1000;
  return {
    clock,
    cloud,
    api,
    open,
    held,
    reconciler,
    seconds,
    add: (server: NewServer) => cloud.addServer(server),
  };
}

export type NovaHarness = ReturnType<typeof makeHarness>;

export function desiredOf(policy: Partial<ServerPolicy> = {}): {
  readonly why: string;
  readonly policy: ServerPolicy;
} {
  return {
    why: 'maintenance m: new disks',
    policy: { ...defaultServerPolicy, ...policy },
  };
}

/** Runs the reconciler until that is so; fails after so many seconds of the bed's clock. */
export async function runUntil(
  harness: NovaHarness,
  reconciler: HypervisorReconciler,
  isSo: () => boolean,
  limitSeconds = 1800,
): Promise<void> {
  const stop = new AbortController();
  const limit = harness.seconds() + limitSeconds;
  const running = reconciler.run(stop.signal);
  let wasSo = false;
  try {
    while (!isSo() && harness.seconds() < limit)
      await new Promise(resolve => setImmediate(resolve));
    wasSo = isSo();
  } finally {
    stop.abort();
    await running;
  }
  if (!wasSo)
    throw new Error(
      `not so after ${limitSeconds} s: ${JSON.stringify(reconciler.of('compute-1'), undefined, 1)}`,
    );
}

export function viewOf(reconciler: HypervisorReconciler, node = 'compute-1'): HostView {
  const view = reconciler.of(node);
  if (view === 'unknown' || view === 'none') throw new Error(`the node is ${view}`);
  return view;
}

export function isEmptied(reconciler: HypervisorReconciler, node = 'compute-1') {
  return (): boolean => {
    const view = reconciler.of(node);
    return typeof view === 'object' && view.empty;
  };
}

/** `state: message` of each VM, by name. */
function standings({ vms }: HostView): Readonly<Record<string, string>> {
  return Object.fromEntries(
    vms.map(({ name, state, message }: VmStatus) => [
      name,
      message === undefined ? state : `${state}: ${message}`,
    ]),
  );
}

/** What is said of one VM; empty as long as nothing is. */
export function told(reconciler: HypervisorReconciler, name: string, node = 'compute-1'): string {
  const view = reconciler.of(node);
  return typeof view === 'object' ? (standings(view)[name] ?? '') : '';
}

/** How often each server was moved off the host. */
export function moves({ cloud }: NovaHarness, host = 'compute-1'): readonly number[] {
  cloud.catchUp();
  const done = cloud.migrations.records.filter(
    ({ source, status }) => source === host && (status === 'completed' || status === 'confirmed'),
  );
  return [...cloud.servers.keys()].map(id => done.filter(({ server }) => server === id).length);
}
