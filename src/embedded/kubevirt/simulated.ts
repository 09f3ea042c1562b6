import { plain } from '../api/message.ts';
import type { Controller } from '../controllers/controller.ts';
import type { Extension } from '../extension.ts';
import { evacuationController } from './evacuation.ts';
import { Handler, type MigrationPace } from './handler.ts';
import { instanceController } from './instances.ts';
import { machineController } from './machines.ts';
import { migrationController } from './migrations.ts';
import { review, serve } from './virt-api.ts';
import { home } from './words.ts';

/** A KubeVirt for an embedded cluster, after what the real one was seen to do: test/kubevirt holds both to the same cases. */

type Part = 'virt-api' | 'virt-controller';

/** A few seconds to begin with, and what 512 MiB/s make of the memory. */
const defaultPace: MigrationPace = { baseMs: 2000, perGiMs: 2000 };

/** How soon a controller that is away is asked again, in milliseconds. */
const awayMs = 1000;

const refusedConnection = 'dial tcp 127.0.0.1:443: connect: connection refused';

export class SimulatedKubeVirt {
  readonly #away = new Set<Part>();
  readonly #pace: MigrationPace;

  constructor(pace: MigrationPace = defaultPace) {
    this.#pace = pace;
  }

  /** Takes a part away, as when its pods are gone, or brings it back. */
  set(part: Part, isThere: boolean): void {
    if (isThere) this.#away.delete(part);
    else this.#away.add(part);
  }

  /** For `ClusterOptions.extensions`: virt-api. */
  extension(): Extension {
    return {
      group: 'subresources.kubevirt.io',
      service: { namespace: home, name: 'virt-api' },
      answer: (registry, request) =>
        this.#away.has('virt-api') ? plain(503, `error trying to reach service: ${refusedConnection}\n`) : serve(registry, request),
      review: (registry, path, asked) => {
        if (!this.#away.has('virt-api')) return review(registry, path, asked);
        throw new Error(`Post "https://virt-api.${home}.svc:443${path}?timeout=10s": ${refusedConnection}`);
      },
    };
  }

  /** For `LifeOptions.more`: virt-controller, and what runs on nodes. New ones for each life. */
  controllers(): readonly Controller[] {
    // Migrations first: the limits go by those that have begun.
    const own = [machineController, instanceController, migrationController, evacuationController];
    return [...own.map(controller => this.#present(controller)), new Handler(this.#pace).controller()];
  }

  /** A controller that is away finds, when it is back, what has been asked meanwhile. */
  #present(controller: Controller): Controller {
    return {
      ...controller,
      reconcile: (key, cluster) => (this.#away.has('virt-controller') ? awayMs : controller.reconcile(key, cluster)),
    };
  }
}
