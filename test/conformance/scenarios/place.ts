import type { Api, Reply } from '../../control-plane/objects/api.ts';
import * as manifests from '../../control-plane/objects/manifests.ts';
import { until } from '../../control-plane/wait.ts';
import { paths, type RecordedResource, type Scope } from './recorder.ts';
import { isGoing, isTrue, isUp, type Thing } from './thing.ts';

/** How long anything in a scenario may take. */
const deadlineMs = 120_000;

type Spec = Readonly<Record<string, unknown>>;
export type WorkloadOptions = {
  readonly replicas?: number;
  /** Beside the selector and the template. */
  readonly spec?: Spec;
  /** Of the pods. */
  readonly pod?: Spec;
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations of the pods. */
  readonly annotations?: Readonly<Record<string, string>>;
};

const clusterWide: ReadonlySet<RecordedResource> = new Set([
  'nodes',
  'namespaces',
  'volumes',
  'attachments',
]);

/** Grows with every write (etcd's revision on the real side). */
function versionOf(thing: Thing | undefined): number {
  return Number(thing?.metadata.resourceVersion ?? 0);
}

/**
 * One scenario on one of the two sides: its own namespace, its own nodes, what it does and what it
 * finds.
 */
export class Place {
  readonly api: Api;
  readonly id: string;
  readonly scope: Scope;
  /** What the scenario itself has noted, to be the same on both sides. */
  readonly notes: (readonly [what: string, value: unknown])[] = [];

  constructor(api: Api, id: string, scope: Scope) {
    this.api = api;
    this.id = id;
    this.scope = scope;
  }

  get namespace(): string {
    return `s-${this.id}`;
  }

  /** A cluster-wide name that no other scenario has. */
  name(base: string): string {
    return `${base}-${this.id}`;
  }

  /** Where a resource is, or one of its objects. */
  path(what: RecordedResource, name?: string): string {
    const parts = paths[what].split('/');
    const plural = parts.pop() ?? '';
    const inside = clusterWide.has(what) ? [plural] : ['namespaces', this.namespace, plural];
    return [...parts, ...inside, ...(name === undefined ? [] : [name])].join('/');
  }

  all(what: RecordedResource): readonly Thing[] {
    return this.scope.present(what);
  }

  find(what: RecordedResource, name: string): Thing | undefined {
    return this.all(what).find(({ metadata }) => metadata.name === name);
  }

  get pods(): readonly Thing[] {
    return this.all('pods');
  }

  /** Waits for what the watches tell. */
  until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const shown = (): string => {
      const interesting = [...this.scope.courses.values()].filter(
        one => !one.gone && one.what !== 'events',
      );
      const texts = interesting.map(
        ({ what, states }) =>
          `${what} ${states.at(-1)?.metadata.name} ${JSON.stringify(states.at(-1)?.status)}`,
      );
      return texts.join('\n  ').slice(0, 4000);
    };
    return this.scope.until(`${what} in ${this.namespace}`, look, deadlineMs, shown);
  }

  note(what: string, value: unknown): void {
    this.notes.push([what, value]);
  }

  /** Nodes of this scenario only: nobody else tolerates them. Waits until they may be used. */
  async nodes(
    names: readonly string[],
    options: manifests.NodeOptions & { readonly status?: unknown } = {},
  ): Promise<void> {
    for (const name of names) {
      const { status, ...rest } = options;
      const made = manifests.node(this.name(name), {
        ...rest,
        labels: { scenario: this.id, ...options.labels },
        taints: [
          { key: 'scenario', value: this.id, effect: 'NoSchedule' },
          ...(options.taints ?? []),
        ],
      });
      await this.api.post(this.path('nodes'), status === undefined ? made : { ...made, status });
    }
    if (options.kubelet === false) return;
    await this.until(`nodes ${names.join()}`, () =>
      names.every(name => this.#isUsable(this.name(name))),
    );
    // Those with a capacity of their own may have no room to spare, and a cordoned one takes
    // nobody.
    if (options.status === undefined && options.unschedulable !== true)
      await Promise.all(names.map(name => this.#tryOut(this.name(name), options.taints ?? [])));
  }

  /**
   * The scheduler has a view of its own of each node, which may be behind ours: what shows that it
   * has caught up is that it sends a pod there.
   */
  async #tryOut(nodeName: string, taints: readonly { readonly key: string }[]): Promise<void> {
    const path = '/api/v1/namespaces/default/pods';
    const name = `try-${nodeName}`;
    const tolerations = ['scenario', ...taints.map(({ key }) => key)].map(key => ({
      key,
      operator: 'Exists',
    }));
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] },
          ],
        },
      },
    };
    await this.api.post(path, manifests.pod(name, { spec: { tolerations, affinity } }));
    const isThere = async (): Promise<boolean> =>
      (await this.api.get<Thing>(`${path}/${name}`)).spec?.['nodeName'] === nodeName;
    await until(`the scheduler to use ${nodeName}`, isThere, { deadlineMs });
    await this.api.delete(`${path}/${name}`, { gracePeriodSeconds: 0 });
  }

  #isUsable(name: string): boolean {
    const node = this.find('nodes', name);
    const taints = (node?.spec?.['taints'] ?? []) as readonly { readonly key: string }[];
    return (
      isTrue(node, 'Ready') && !taints.some(({ key }) => key === 'node.kubernetes.io/not-ready')
    );
  }

  /** On this scenario's nodes, which only its pods tolerate. */
  #podSpec(more: Spec = {}): Spec {
    const {
      tolerations = [],
      nodeSelector,
      ...rest
    } = more as Spec & { tolerations?: readonly unknown[]; nodeSelector?: object };
    return {
      nodeSelector: { scenario: this.id, ...nodeSelector },
      tolerations: [
        { key: 'scenario', operator: 'Equal', value: this.id, effect: 'NoSchedule' },
        ...tolerations,
      ],
      ...rest,
    };
  }

  #options({ replicas, pod, labels, annotations }: WorkloadOptions): manifests.WorkloadOptions {
    return {
      namespace: this.namespace,
      spec: this.#podSpec(pod),
      ...(replicas === undefined ? {} : { replicas }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    };
  }

  async #make(what: RecordedResource, made: manifests.Manifest, spec: Spec = {}): Promise<Thing> {
    return this.api.post<Thing>(this.path(what), {
      ...made,
      spec: { ...(made.spec as Spec), ...spec },
    });
  }

  deployment(name: string, options: WorkloadOptions = {}): Promise<Thing> {
    return this.#make(
      'deployments',
      manifests.deployment(name, this.#options(options)),
      options.spec,
    );
  }

  replicaSet(name: string, options: WorkloadOptions = {}): Promise<Thing> {
    return this.#make(
      'replicasets',
      { ...manifests.deployment(name, this.#options(options)), kind: 'ReplicaSet' },
      options.spec,
    );
  }

  /** In order, unless the spec says otherwise. */
  statefulSet(name: string, options: WorkloadOptions = {}): Promise<Thing> {
    const ordered = { podManagementPolicy: 'OrderedReady', ...options.spec };
    return this.#make('statefulsets', manifests.statefulSet(name, this.#options(options)), ordered);
  }

  /** Tolerates nothing but the scenario's nodes. */
  daemonSet(name: string, options: WorkloadOptions = {}): Promise<Thing> {
    return this.#make(
      'daemonsets',
      manifests.daemonSet(name, this.#options(options)),
      options.spec,
    );
  }

  job(name: string, options: WorkloadOptions = {}): Promise<Thing> {
    return this.#make('jobs', manifests.job(name, this.#options(options)), options.spec);
  }

  pod(
    name: string,
    options: WorkloadOptions & { readonly metadata?: object } = {},
  ): Promise<Thing> {
    const made = manifests.pod(name, this.#options(options));
    return this.#make('pods', { ...made, metadata: { ...made.metadata, ...options.metadata } });
  }

  budget(name: string, options: manifests.BudgetOptions, spec: Spec = {}): Promise<Thing> {
    return this.#make(
      'budgets',
      manifests.budget(name, { ...options, namespace: this.namespace }),
      spec,
    );
  }

  make(
    what: RecordedResource,
    body: {
      readonly apiVersion: string;
      readonly kind: string;
      readonly metadata: object;
      readonly [key: string]: unknown;
    },
  ) {
    const metadata = clusterWide.has(what)
      ? body.metadata
      : { namespace: this.namespace, ...body.metadata };
    return this.api.post<Thing>(this.path(what), { ...body, metadata });
  }

  /**
   * Returns when the watch tells the change as well: what is asked of the object afterwards is
   * never about how it was before.
   */
  async patch(what: RecordedResource, name: string, body: unknown): Promise<Thing> {
    const patched = await this.api.patch<Thing>(this.path(what, name), body);
    const { uid } = patched.metadata;
    await this.until('a change to be seen', () => {
      const course = this.scope.courses.get(uid);
      return course?.gone === true || versionOf(course?.states.at(-1)) >= versionOf(patched);
    });
    return patched;
  }

  scale(what: RecordedResource, name: string, replicas: number): Promise<Thing> {
    return this.patch(what, name, { spec: { replicas } });
  }

  /** Another image: a new template. */
  roll(what: RecordedResource, name: string, image: string): Promise<Thing> {
    const containers = [{ name: 'main', image }];
    return this.patch(what, name, { spec: { template: { spec: { containers } } } });
  }

  patchStatus(what: RecordedResource, name: string, body: unknown): Promise<Reply> {
    return this.api.call(
      'PATCH',
      `${this.path(what, name)}/status`,
      body,
      'application/strategic-merge-patch+json',
    );
  }

  async delete(what: RecordedResource, name: string, options: Spec = {}): Promise<void> {
    await this.api.delete(this.path(what, name), {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...options,
    });
  }

  async cordon(node: string, unschedulable = true): Promise<void> {
    await this.patch('nodes', this.name(node), {
      spec: { unschedulable: unschedulable ? true : null },
    });
  }

  /** Taints beside the scenario's own. */
  async taint(
    node: string,
    ...taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[]
  ): Promise<void> {
    const own = { key: 'scenario', value: this.id, effect: 'NoSchedule' };
    await this.patch('nodes', this.name(node), { spec: { taints: [own, ...taints] } });
  }

  /** The answer in short: `201`, or the code with what the budget says. */
  async evict(pod: string, options: Spec = {}): Promise<string> {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod, namespace: this.namespace },
      ...options,
    };
    const reply = await this.api.call('POST', `${this.path('pods', pod)}/eviction`, body);
    const { message = '', details } = reply.body as {
      message?: string;
      details?: { causes?: readonly { message: string }[] };
    };
    return reply.status === 201
      ? '201'
      : [reply.status, message, ...(details?.causes ?? []).map(cause => cause.message)].join(' | ');
  }

  /**
   * Waits until there are exactly so many pods (of one app), all of them Ready and none on its way
   * out.
   */
  async up(total: number, app?: string): Promise<readonly Thing[]> {
    const mine = (): readonly Thing[] =>
      this.pods.filter(({ metadata }) => app === undefined || metadata.labels?.['app'] === app);
    await this.until(
      `${total} pods that are up`,
      () => mine().length === total && mine().every(isUp),
    );
    return mine();
  }

  /** Waits until a pod is on its way out, or gone. */
  async going(uid: string): Promise<void> {
    await this.until('a pod to go', () => {
      const course = this.scope.courses.get(uid);
      return course !== undefined && (course.gone || course.states.some(isGoing));
    });
  }

  async gone(uid: string): Promise<void> {
    await this.until('an object to be gone', () => this.scope.courses.get(uid)?.gone);
  }
}
