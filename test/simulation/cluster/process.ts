import { served } from '@drydock/apis';
import { reflectorWatcher } from '@drydock/kube-client';
import { type ControllerManager, controllerManager, noMeter } from '@drydock/operator';
import type { EventScanner } from '@drydock/operator/machines';
import type { Log } from '@drydock/utils';
import { PanicHandler } from '@drydock/utils';
import type { SimulationContext } from '../simulation-context.ts';
import type { Caller } from './caller.ts';
import { Line } from './line.ts';
import { MortalClock } from './mortal-clock.ts';
import { leaseNamespace, operatorNamespace } from './namespaces.ts';

function text(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(error);
}

/** One process of the operator, from its start to its end: whatever it has begun dies with it. */
export class Process {
  readonly id: number;
  readonly #world: SimulationContext;
  readonly #clock: MortalClock;
  readonly #stop = new AbortController();
  readonly #line: Line;
  #alive = true;
  #leads = true;

  constructor(world: SimulationContext, id: number) {
    this.id = id;
    this.#world = world;
    this.#clock = new MortalClock(world.clock, () => this.#alive);
    const caller: Caller = { id, isAlive: () => this.#alive, mayAct: () => this.#leads };
    this.#line = new Line(world, caller, this.#clock);
    this.#run(this.#controllerManager());
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** Nothing of it runs any more, from this very moment on. */
  kill(): void {
    this.#alive = false;
    this.#line.hangUp();
  }

  /** It is told to come to its end. */
  stop(): void {
    this.#stop.abort();
  }

  /** It has lost its lease, and knows. */
  depose(): void {
    this.#leads = false;
  }

  setClock(aheadMs: number): void {
    this.#clock.set(aheadMs);
  }

  #run(controllerManager: ControllerManager): void {
    controllerManager.run(this.#stop.signal).then(
      () => {
        this.#alive = false;
      },
      (error: unknown) => {
        if (this.#alive)
          this.#world.audit.fail('no defects', `process ${this.id} ended with ${text(error)}`);
      },
    );
  }

  #log(): Log {
    const { audit } = this.#world;
    return {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (message, fields = {}) => {
        if (this.#alive)
          audit.fail(
            'no defects',
            `process ${this.id} says: ${message} ${Object.values(fields).map(text).join(' ')}`,
          );
      },
    };
  }

  #scanner(): EventScanner {
    const { cloud, lies } = this.#world;
    return {
      scan: async (source, machines) => {
        if (cloud === undefined)
          return { source: source.name, looked: new Set(), events: [], unknown: [] };
        const seen = cloud.scan(source.name, [...machines.keys()]);
        return {
          ...seen,
          events: seen.events.map(event =>
            lies.has(event.id) ? { ...event, state: 'Cancelled' as const } : event,
          ),
        };
      },
    };
  }

  #controllerManager(): ControllerManager {
    const world = this.#world;
    const line = this.#line;
    const log = this.#log();
    const clock = this.#clock;
    const chance = world.chance;
    let names = 0;
    return controllerManager({
      api: world.warp(line, world),
      watcher: reflectorWatcher({ api: line, clock, log, random: chance }),
      recorder: { record: () => {} },
      meter: noMeter,
      fence: { mayAct: () => this.#leads },
      clock,
      log,
      defects: new PanicHandler({ log }),
      evictionRequests: 'Auto',
      adapters: served({ leaseNamespace, operatorNamespace }),
      terms: { durationSeconds: 3600, renewEverySeconds: 900 },
      nonce: () => `p${this.id}-${(names += 1)}`,
      haltLease: { namespace: 'drydock-system', name: 'drydock' },
      machines: {
        limits: {
          perSet: world.story.machines?.perSet ?? 1,
          perZone: 0,
          nodes: world.story.machines?.perSet ?? 1,
        },
        drainLeadSeconds: 300,
        namespace: operatorNamespace,
        scanner: this.#scanner(),
      },
    });
  }
}
