import { readdirSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../control-plane/objects/api.ts';
import { podPath } from '../control-plane/objects/cluster.ts';
import { isReady, type Pod } from '../control-plane/objects/objects.ts';
import { until } from '../control-plane/wait.ts';
import { tryCreate } from './product.ts';

/** What is measured here is printed and not asserted: the machine's load is in it. */
export function figure(t: TestContext, what: string, value: string): void {
  t.diagnostic(`figure: ${what}: ${value}`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export type Attempt = { readonly at: number; readonly tookMs: number; readonly failure?: string };

/**
 * Creates that the webhook has to allow, so many at a time, one after the other until it is
 * stopped: what came of each.
 */
export function keepCreating(
  api: Api,
  nodeName: string,
  atATime = 1,
): { readonly attempts: readonly Attempt[]; stop(): Promise<readonly Attempt[]> } {
  const attempts: Attempt[] = [];
  const over = new AbortController();
  const loop = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const at = performance.now();
      const { status, body } = await tryCreate(api, nodeName);
      const failure =
        status === 201
          ? {}
          : { failure: `${status} ${(body as { readonly message?: string }).message ?? ''}` };
      attempts.push({ at, tookMs: performance.now() - at, ...failure });
      await sleep(20);
    }
  };
  const running = Promise.all(Array.from({ length: atATime }, loop));
  return {
    attempts,
    stop: async () => {
      over.abort();
      await running;
      return attempts;
    },
  };
}

export function maxLength(attempts: readonly Attempt[]): number {
  return Math.max(0, ...attempts.map(({ tookMs }) => tookMs));
}

/** The messages of those that failed, each once, with how often. */
export function failures(attempts: readonly Attempt[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { failure } of attempts)
    if (failure !== undefined) counts.set(failure, (counts.get(failure) ?? 0) + 1);
  return [...counts].map(([failure, count]) => `${count} × ${failure}`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended meanwhile.
    return '';
  }
}

/** Numbers of the processes of a pod's containers, as this machine has them; without `pause`. */
export function processesOf({ metadata }: Pod): readonly number[] {
  return readdirSync('/proc')
    .filter(
      name => /^\d+$/.test(name) && read(`/proc/${name}/cgroup`).includes(`pod${metadata.uid}`),
    )
    .filter(name => !['', '/pause\0'].includes(read(`/proc/${name}/cmdline`)))
    .map(Number);
}

function containerOf({ status }: Pod): { readonly restartCount: number } {
  return (
    (status as { readonly containerStatuses?: readonly { readonly restartCount: number }[] })
      .containerStatuses?.[0] ?? { restartCount: 0 }
  );
}

/** Kills what runs in a pod with one container, and waits until it runs again and is Ready. */
export async function killContainer(api: Api, pod: Pod): Promise<void> {
  const [pid = 0] = processesOf(pod);
  const path = podPath(pod.metadata.namespace ?? '', pod.metadata.name);
  const { restartCount } = containerOf(await api.get<Pod>(path));
  process.kill(pid, 'SIGKILL');
  const back = async (): Promise<boolean> => {
    const now = await api.get<Pod>(path);
    return isReady(now) && containerOf(now).restartCount > restartCount;
  };
  // kubelet waits before it starts a container again that has ended twice.
  await until(`${pod.metadata.name} to come back`, back, { deadlineMs: 90_000 });
}

/** The token that a pod's process sees, from its own root folder. */
export function tokenOf(pod: Pod): string {
  return readFileSync(
    `/proc/${processesOf(pod)[0]}/root/var/run/secrets/kubernetes.io/serviceaccount/token`,
    'utf8',
  );
}

/** MiB of memory of a process. */
export function rssOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** MiB that the cgroup of a process is charged with, pages of files among them. */
export function chargedOf(pid: number): number {
  const groups = read(`/proc/${pid}/cgroup`);
  const [, first] = /^\d+:memory:(.*)$/m.exec(groups) ?? [];
  const [, second = ''] = /^0::(.*)$/m.exec(groups) ?? [];
  const file =
    first === undefined
      ? `/sys/fs/cgroup${second}/memory.current`
      : `/sys/fs/cgroup/memory${first}/memory.usage_in_bytes`;
  return Number(read(file)) / 2 ** 20;
}

/** When a process began, in milliseconds since 1970, to a hundredth of a second. */
export function beganAt(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  const ticks = Number(stat.slice(stat.lastIndexOf(')')).split(' ')[20]);
  const uptime = Number(read('/proc/uptime').split(' ')[0]);
  return Date.now() - uptime * 1000 + ticks * 10;
}
