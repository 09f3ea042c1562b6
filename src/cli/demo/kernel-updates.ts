import type { JsonObject } from '../../core/json.ts';
import type { Writes } from '../../embedded/controllers/controller.ts';
import { nodeOf, phaseOf } from '../../embedded/controllers/pods.ts';
import type { SimulatedCloud } from '../../embedded/machines/cloud.ts';
import { at, objects, part, type Stored, text } from '../../embedded/object.ts';
import type { Store } from '../../embedded/store/store.ts';
import type { Clock } from '../../support/clock.ts';
import { workNamespace } from '../manager/controller-manager.ts';
import { instanceOn } from './hosts.ts';

/**
 * Plays what the containers of a plan would do to their nodes, which nothing here runs: one of the image `…/kernel-update:VERSION` installs that kernel and restarts
 * the machine, whose node comes back with another boot ID and that kernel. Everything else about the pod the kubelets play.
 */

type Parts = { readonly cloud: SimulatedCloud; readonly store: Store; readonly writes: Writes; readonly clock: Clock };

/** In milliseconds: from the start of the container to the restart of the machine, and until that is back. */
type KernelPace = { readonly installMs: number; readonly rebootMs: number };

const image = /(?:^|\/)kernel-update:([\w.-]{1,63})$/;

/** The kernel that the pod installs; undefined for a pod that does something else. */
const kernelOf = (pod: Stored): string | undefined =>
  objects(at(pod, 'spec', 'containers'))
    .map(container => image.exec(text(container, 'image'))?.[1])
    .find(version => version !== undefined);

class Kernels {
  readonly #parts: Parts;
  readonly #pace: KernelPace;
  /** By the uid of the pod: a container runs once. */
  readonly #begun = new Set<string>();
  readonly #timers = new Set<() => void>();
  /** What each machine boots when it starts the next time, by its instance. */
  readonly #installed = new Map<string, string>();

  constructor(parts: Parts, pace: KernelPace) {
    this.#parts = parts;
    this.#pace = pace;
  }

  /** Follows pods and machines; the answer ends that. */
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
    const version = namespace === workNamespace && phaseOf(pod) === 'Running' ? kernelOf(pod) : undefined;
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
    // Somebody has ended the pod in the middle of its work.
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) return;
    const instance = instanceOn(store.get('nodes', '', nodeOf(pod)));
    if (instance === undefined) return;
    this.#installed.set(instance, version);
    cloud.restart(instance, this.#pace.rebootMs);
  }

  /** It runs again: its kubelet says which start this is, and of what, in one breath. */
  #machineChanged(id: string): void {
    const { store, cloud, writes } = this.#parts;
    const [instance, kernelVersion] = [cloud.instance(id), this.#installed.get(id)];
    if (instance === undefined) this.#installed.delete(id);
    if (instance?.state !== 'running' || kernelVersion === undefined) return;
    const node = store.list('nodes').find(one => instanceOn(one) === id);
    if (node === undefined) return;
    const nodeInfo: JsonObject = { ...part(node, 'status', 'nodeInfo'), bootID: instance.bootId, kernelVersion };
    writes.update('nodes', { ...node, status: { ...part(node, 'status'), nodeInfo } }, 'status');
  }
}

/** Starts the actor; the answer ends it. */
export const simulateKernelUpdates = (parts: Parts, pace: KernelPace): (() => void) => new Kernels(parts, pace).start();
