import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, getNode, nodesReady } from '../control-plane/objects/cluster.ts';
import { namespace, node, pod } from '../control-plane/objects/manifests.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import {
  activeOf,
  type Call,
  type Eviction,
  isFinal,
  say,
} from '../eviction-requests/controllers.ts';
import { EvictionControllers, type Responder } from '../eviction-requests/play.ts';
import { hasLifecycle, lifecycleFlags } from '../eviction-requests/served.ts';
import { installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { Keeper } from './keeper.ts';
import type { Blow } from './proxy.ts';

/**
 * An operator that is killed at every write of an EvictionRequest: one pod is moved by its
 * responder, the other may stay because the maintenance is given up.
 */

const started = hasLifecycle
  ? await startControlPlane({ audit: true, users: operatorUsers, flags: lifecycleFlags })
  : ({ kind: 'left-out', why: 'Kubernetes 1.37 or newer has the kind EvictionRequest' } as const);
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' && started.external && 'it needs flags of its own on the API server');
const controlPlane = started as ControlPlane;
const shop = 'drydock-kill';
const nodeName = 'drydock-kill-1';
const mover = 'mover.example/m';
const object = `/apis/drydock.dev/v1alpha1/maintenances/${nodeName}`;
const requests = `/apis/lifecycle.k8s.io/v1alpha1/namespaces/${shop}/evictionrequests`;

function now(time: Temporal.Instant): string {
  return time.round({ smallestUnit: 'second', roundingMode: 'floor' }).toString();
}

/** `moves` is moved as soon as its responder has its turn; the one of `stays` goes on for ever. */
const responder: Responder = ({ evictions }, time) =>
  evictions
    .filter(one => !isFinal(one) && activeOf(one) === mover)
    .flatMap((one: Eviction): readonly Call[] => {
      const said = one.status?.responders?.find(({ name }) => name === mover);
      return said?.heartbeatTime === undefined
        ? [say(one, mover, { heartbeatTime: now(time), message: 'moving' })]
        : [];
    });

type Items = {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    };
  }[];
};
type Status = {
  readonly status?: {
    readonly phase?: string;
    readonly blockers?: readonly {
      readonly reason: string;
      readonly pod?: { readonly name: string };
    }[];
  };
};

/** Hold: while the node is drained. Release: while it is released. */
type Blows = { readonly hold?: Blow; readonly release?: Blow };

const blows = (['before', 'after'] as const).flatMap((moment): readonly Blows[] => [
  ...['POST evictionrequests 1', 'POST evictionrequests 2', 'DELETE evictionrequests 1'].map(
    at => ({ hold: { at, moment } }),
  ),
  ...['PATCH evictionrequests 1', 'DELETE evictionrequests 1'].map(at => ({
    release: { at, moment },
  })),
]);

describe('an operator that is killed at every write of an EvictionRequest', {
  skip,
  timeout: 300_000,
}, () => {
  const { api } = controlPlane;
  let keeper: Keeper;
  let controllers: EvictionControllers | undefined;

  before(async () => {
    await installShipped(controlPlane);
    await create(api, namespace(shop), node(nodeName));
    await nodesReady(api, [nodeName]);
    controllers = new EvictionControllers(api, [responder]);
    keeper = await Keeper.start(controlPlane);
    await keeper.settled();
  });
  after(async () => {
    await keeper?.[Symbol.asyncDispose]();
    await controllers?.stop();
    await controlPlane.stop();
  });

  const names = async (path: string): Promise<readonly string[]> =>
    (await api.get<Items>(path)).items.map(({ metadata }) => metadata.name).sort();
  const uidOf = async (name: string): Promise<string> =>
    (await api.get<Items['items'][number]>(`/api/v1/namespaces/${shop}/pods/${name}`)).metadata.uid;

  const makePods = async (): Promise<ReadonlyMap<string, string>> => {
    const spec = {
      nodeName,
      evictionResponders: [{ name: mover, priority: 10_000 }],
      terminationGracePeriodSeconds: 0,
    };
    for (const name of ['moves', 'stays']) await create(api, pod(name, { namespace: shop, spec }));
    const phaseOf = async (name: string): Promise<string | undefined> =>
      (await api.get<Status>(`/api/v1/namespaces/${shop}/pods/${name}`)).status?.phase;
    await until(
      'both to run',
      async () => (await phaseOf('moves')) === 'Running' && (await phaseOf('stays')) === 'Running',
    );
    return new Map([
      ['moves', await uidOf('moves')],
      ['stays', await uidOf('stays')],
    ]);
  };

  /** Until both are left to their responders, and a restarted operator has seen that as well. */
  const untilLeft = (): Promise<void> =>
    until('both pods to be left to their responder', async () => {
      const { blockers = [] } = (await api.get<Status>(object)).status ?? {};
      return (
        (await names(requests)).length === 2 &&
        blockers.filter(({ reason }) => reason === 'EvictionResponder').length === 2
      );
    });

  const live = async ({ hold, release }: Blows): Promise<void> => {
    const mark = controlPlane.audit.mark();
    const uids = await makePods();
    keeper.arm(hold);
    await api.post('/apis/drydock.dev/v1alpha1/maintenances', {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'Maintenance',
      metadata: { name: nodeName },
      spec: { nodeName, drain: { force: true } },
    });
    await untilLeft();
    await keeper.settled();
    await api.delete(`/api/v1/namespaces/${shop}/pods/moves`);
    await until('its request to be deleted', async () => (await names(requests)).length === 1);
    await keeper.settled();
    assert.equal(keeper.struck, hold?.at);
    assert.deepEqual(await names(requests), [`drydock-${uids.get('stays') ?? ''}`]);
    keeper.arm(release);
    await api.delete(object);
    await until(
      'the maintenance to be gone',
      async () => (await api.call('GET', object)).status === 404,
    );
    await until('no request to be left', async () => (await names(requests)).length === 0);
    await keeper.settled();
    assert.equal(keeper.struck, release?.at);
    assert.equal((await getNode(api, nodeName)).spec.unschedulable, undefined);
    assert.equal(await uidOf('stays'), uids.get('stays'), 'it has not been touched');
    const asked = await controlPlane.audit.since(mark, 'drydock');
    assert.deepEqual(
      asked.filter(({ subresource }) => subresource === 'eviction'),
      [],
      'nobody went past the responders',
    );
    const made = asked.filter(
      ({ resource, verb, code }) =>
        resource === 'evictionrequests' && verb === 'create' && code === 201,
    );
    assert.equal(made.length, 2, 'one request for each pod, whatever happens');
    await api.delete(`/api/v1/namespaces/${shop}/pods/stays`);
    await until(
      'the Evictions to be collected',
      async () => (await names(requests.replace('evictionrequests', 'evictions'))).length === 0,
    );
  };

  test('undisturbed, the writes are the ones that are struck below', async () => {
    await live({});
  });

  for (const blow of blows) {
    const { at, moment } = blow.hold ?? blow.release ?? { at: '', moment: '' };
    const phase = blow.hold ? 'while it drains' : 'while it releases';
    test(`killed ${moment} ${at}, ${phase}: one request a pod, none is left, no pod is evicted`, async () => {
      await live(blow);
    });
  }
});
