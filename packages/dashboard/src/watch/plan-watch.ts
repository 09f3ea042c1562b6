import { matches, timeText } from '@drydock/apimachinery';
import {
  type MachineAdapter,
  type MachineRequest,
  machineMaintenancesPath,
} from '@drydock/core/machine';
import type { Node } from '@drydock/core/node';
import { type Plan, type PlanAdapter, plansPath } from '@drydock/core/plan';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import type { Change } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import type { MachineView, PlanPointView, PlanSummary, WindowView } from '../scene.ts';
import { doneIn, planView, runIn } from '../views/plan-views.ts';
import { ViewStore } from '../views/timeline.ts';
import { machineView, windowView } from '../views/views.ts';
import type { Collections } from './collections.ts';

/** Limit of points; more make no visible difference. */
const maxPoints = 80;

type History = { readonly run: string; readonly points: PlanPointView[] };

/** Progress of runs over time, recorded while the server watches, because no status contains it. */
export class RunHistories {
  /** Histories by the plan's UID. */
  readonly #histories = new Map<string, History>();

  /** Returns the history of the current run, with the plan's present progress. */
  follow(plan: Plan, at: string): readonly PlanPointView[] {
    const [run, done] = [runIn(plan)?.id, doneIn(plan)];
    if (run === undefined || done === undefined) return [];
    const known = this.#histories.get(plan.uid);
    const history = known?.run === run ? known : { run, points: [] };
    this.#histories.set(plan.uid, history);
    const { points } = history;
    if (points.at(-1)?.done !== done) points.push({ at, done });
    if (points.length > maxPoints) history.points.splice(0, points.length, ...thinned(points));
    return [...points];
  }

  forget({ uid }: Plan): void {
    this.#histories.delete(uid);
  }
}

/** Returns every second point, with the first and the last. */
function thinned(points: readonly PlanPointView[]): readonly PlanPointView[] {
  return points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
}

/** Reader of plans. */
export type PlanClient = Pick<PlanAdapter, 'readPlan'>;

/** The plans of the cluster. */
export class PlanWatch {
  readonly plans = new ViewStore<PlanSummary>();
  readonly #plans = new Map<string, Plan>();
  readonly #histories = new RunHistories();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #selectionChanged: () => void;

  /**
   * Creates the watch; `selectionChanged` is called when nodes may belong to another plan than
   * before.
   */
  constructor(clock: Pick<Clock, 'now'>, selectionChanged: () => void) {
    this.#clock = clock;
    this.#selectionChanged = selectionChanged;
  }

  /** Returns the plan that selects a node and is not over; of several, the first by name. */
  planOf({ labels }: Pick<Node, 'labels'>): string | undefined {
    const names = [...this.#plans.values()].flatMap(({ name, nodeSelector }) =>
      !this.#isOver(name) && matches(nodeSelector, labels) ? [name] : [],
    );
    return names.sort()[0];
  }

  /** Returns a plan that exists now: exactly this one, and no successor with its name. */
  find(name: string, uid: string): Plan | undefined {
    const plan = this.#plans.get(name);
    return plan?.uid === uid ? plan : undefined;
  }

  /** Watches until the signal is aborted. A cluster may lack the kind. */
  run(collections: Collections, { readPlan }: PlanClient, signal: AbortSignal): Promise<void> {
    const onChange = (change: Change<Plan>): void => this.#onPlan(change);
    const collection = { path: plansPath };
    return collections.follow(
      { what: 'maintenance plans', collection, project: readPlan, onChange, mayLack: true },
      signal,
    );
  }

  #onPlan({ type, object }: Change<Plan>): void {
    const before = this.#selectionOf(object.key);
    if (type === 'removed') {
      this.#plans.delete(object.key);
      this.plans.drop(object.key);
      this.#histories.forget(object);
    } else {
      this.#plans.set(object.key, object);
      this.plans.put(planView(object, this.#histories.follow(object, timeText(this.#clock.now()))));
    }
    if (this.#selectionOf(object.key) !== before) this.#selectionChanged();
  }

  #isOver(name: string): boolean {
    const phase = this.plans.get(name)?.phase;
    return phase === 'Complete' || phase === 'Aborted';
  }

  /** Returns the selection of a plan, for comparison with the one before. */
  #selectionOf(name: string): string {
    return this.#isOver(name) ? '' : JSON.stringify(this.#plans.get(name)?.nodeSelector ?? '');
  }
}

/** Readers of the kinds about machines. */
export type MachineClient = Pick<MachineAdapter, 'readMaintenance' | 'readWindow'>;

/** Events of machines, and the windows in which Drydock may act. */
export class MachineWatch {
  readonly machines = new ViewStore<MachineView>();
  readonly windows = new ViewStore<WindowView>();
  readonly #requests = new Map<string, MachineRequest>();
  readonly #touched: (node: string) => void;

  /** Creates the watch; `touched` receives the nodes whose machines have changed. */
  constructor(touched: (node: string) => void) {
    this.#touched = touched;
  }

  /** Returns a machine maintenance that exists now. */
  find(key: string): MachineRequest | undefined {
    return this.#requests.get(key);
  }

  /** Returns whether Drydock acts on the machine of this node, which may be gone. */
  isWorkedOn(node: string): boolean {
    return this.machines.values().some(machine => machine.node === node && !machine.over);
  }

  /** Watches until the signal is aborted. A cluster may lack both kinds. */
  async run(collections: Collections, read: MachineClient, signal: AbortSignal): Promise<void> {
    await Promise.all([
      collections.follow(
        {
          what: 'machine maintenances',
          collection: { path: machineMaintenancesPath },
          project: raw => requestIn(read.readMaintenance(raw)),
          onChange: change => this.#onRequest(change),
          mayLack: true,
        },
        signal,
      ),
      collections.follow(
        {
          what: 'maintenance windows',
          collection: { path: windowsPath },
          project: read.readWindow,
          onChange: change => this.#onWindow(change),
          mayLack: true,
        },
        signal,
      ),
    ]);
  }

  #onRequest({ type, object }: Change<MachineRequest>): void {
    const { node } = machineView(object);
    if (node !== undefined) this.#touched(node);
    if (type === 'removed') {
      this.#requests.delete(object.key);
      this.machines.drop(object.key);
      return;
    }
    this.#requests.set(object.key, object);
    this.machines.put(machineView(object));
  }

  #onWindow({ type, object }: Change<MaintenanceWindow>): void {
    if (type === 'removed') this.windows.drop(object.key);
    else this.windows.put(windowView(object));
  }
}

/** Returns the maintenance; undefined for an invalid one. */
function requestIn(read: MachineRequest | string): MachineRequest | undefined {
  return typeof read === 'string' ? undefined : read;
}
