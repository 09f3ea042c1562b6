import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text } from '@drydock/kube-sim';
import type { Writes } from '@drydock/kube-sim/controllers';
import { nodeOf, phaseOf } from '@drydock/kube-sim/controllers';
import type { SimulatedCloud } from '@drydock/kube-sim/machines';
import type { Store } from '@drydock/kube-sim/store';
import { workNamespace } from '@drydock/operator';
import type { Clock } from '@drydock/utils';
import { instanceOn } from './hosts.ts';

/**
 * Simulates the containers of a plan, which do not really run: one with the image
 * `…/kernel-update:VERSION` installs that kernel and restarts the machine, whose node returns with
 * another boot ID and that kernel. The simulated kubelets do the rest.
 */

type Parts = {
  readonly cloud: SimulatedCloud;
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
};

/**
 * Milliseconds from the start of the container to the restart of the machine, and until that is
 * back.
 */
type KernelPace = { readonly installMs: number; readonly rebootMs: number };

const image = /(?:^|\/)kernel-update:([\w.-]{1,63})$/;

/** Returns the kernel that the pod installs; undefined for other pods. */
function kernelOf(pod: Stored): string | undefined {
  return objects(at(pod, 'spec', 'containers'))
    .map(container => image.exec(text(container, 'image'))?.[1])
    .find(version => version !== undefined);
}

class Kernels {
  readonly #parts: Parts;
  readonly #pace: KernelPace;
  /** UIDs of started pods: a container runs once. */
  readonly #begun = new Set<string>();
  readonly #timers = new Set<() => void>();
  /** Kernel for the next boot of each machine, by its instance. */
  readonly #installed = new Map<string, string>();

  constructor(parts: Parts, pace: KernelPace) {
    this.#parts = parts;
    this.#pace = pace;
  }

  /** Watches pods and machines; returns a function that stops it. */
  start(): () => void {
    const { store, cloud } = this.#parts;
    const ends = [
      store.subscribe(({ type, object }) => {
        if (type !== 'removed') this.#podChanged(object);
      }, 'pods'),
      cloud.subscribe(instance => this.#machineChanged(instance)),
    ];
    return () => {
      for (const end of [...ends, ...this.#timers]) end();
    };
  }

  #podChanged(pod: Stored): void {
    const { namespace = '', uid } = pod.metadata;
    const version =
      namespace === workNamespace && phaseOf(pod) === 'Running' ? kernelOf(pod) : undefined;
    if (version === undefined || this.#begun.has(uid)) return;
    this.#begun.add(uid);
    const end = this.#parts.clock.after(this.#pace.installMs, () => {
      this.#timers.delete(end);
      this.#install(pod, version);
    });
    this.#timers.add(end);
  }

  #install({ metadata: { namespace = '', name, uid } }: Stored, version: string): void {
    const { store, cloud } = this.#parts;
    const pod = store.get('pods', namespace, name);
    // The pod was deleted during its work.
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) return;
    const instance = instanceOn(store.get('nodes', '', nodeOf(pod)));
    if (instance === undefined) return;
    this.#installed.set(instance, version);
    cloud.restart(instance, this.#pace.rebootMs);
  }

  /** Writes boot ID and kernel of a restarted machine in a single update, as its kubelet does. */
  #machineChanged(id: string): void {
    const { store, cloud, writes } = this.#parts;
    const [instance, kernelVersion] = [cloud.instance(id), this.#installed.get(id)];
    if (instance === undefined) this.#installed.delete(id);
    if (instance?.state !== 'running' || kernelVersion === undefined) return;
    const node = store.list('nodes').find(one => instanceOn(one) === id);
    if (node === undefined) return;
    const nodeInfo: JsonObject = {
      ...part(node, 'status', 'nodeInfo'),
      bootID: instance.bootId,
      kernelVersion,
    };
    writes.update('nodes', { ...node, status: { ...part(node, 'status'), nodeInfo } }, 'status');
  }
}

/** Starts the simulation; returns a function that stops it. */
export function simulateKernelUpdates(parts: Parts, pace: KernelPace): () => void {
  return new Kernels(parts, pace).start();
}
