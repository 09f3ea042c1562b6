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

/**
 * A KubeVirt for an embedded cluster, modelled on the observed behavior of the real one:
 * test/kubevirt checks both with the same cases.
 */

type Part = 'virt-api' | 'virt-controller';

/** Default durations: a fixed part of two seconds, and the memory at 512 MiB/s. */
const defaultPace: MigrationPace = { baseMs: 2000, perGiMs: 2000 };

/** Requeue delay of an absent controller, in milliseconds. */
const awayMs = 1000;

const refusedConnection = 'dial tcp 127.0.0.1:443: connect: connection refused';

export class SimulatedKubeVirt {
  readonly #away = new Set<Part>();
  readonly #pace: MigrationPace;

  constructor(pace: MigrationPace = defaultPace) {
    this.#pace = pace;
  }

  /** Removes a component, as when its pods are gone, or restores it. */
  set(part: Part, isThere: boolean): void {
    if (isThere) this.#away.delete(part);
    else this.#away.add(part);
  }

  /** Returns virt-api, for `ClusterOptions.extensions`. */
  extension(): Extension {
    return {
      group: 'subresources.kubevirt.io',
      service: { namespace: home, name: 'virt-api' },
      answer: (registry, request) =>
        this.#away.has('virt-api')
          ? plain(503, `error trying to reach service: ${refusedConnection}\n`)
          : serve(registry, request),
      review: (registry, path, asked) => {
        if (!this.#away.has('virt-api')) return review(registry, path, asked);
        throw new Error(
          `Post "https://virt-api.${home}.svc:443${path}?timeout=10s": ${refusedConnection}`,
        );
      },
    };
  }

  /**
   * Returns virt-controller and the components on nodes, for `RuntimeOptions.more`. New ones for
   * each start.
   */
  controllers(): readonly Controller[] {
    // Migrations first: the limits depend on those that have started.
    const own = [machineController, instanceController, migrationController, evacuationController];
    return [
      ...own.map(controller => this.#present(controller)),
      new Handler(this.#pace).controller(),
    ];
  }

  /** Wraps a controller: after an absence it handles the changes made meanwhile. */
  #present(controller: Controller): Controller {
    return {
      ...controller,
      reconcile: (key, cluster) =>
        this.#away.has('virt-controller') ? awayMs : controller.reconcile(key, cluster),
    };
  }
}
