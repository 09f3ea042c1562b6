import { join } from 'node:path';
import { ensureBinaries } from '../control-plane/binaries.ts';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { Api } from '../control-plane/objects/api.ts';
import { nodesReady } from '../control-plane/objects/cluster.ts';
import { newest } from '../control-plane/releases.ts';
import type { ControlPlane, LeftOut, Options } from '../control-plane/types.ts';
import type { Identity } from '../control-plane/users.ts';
import { otherCluster } from '../integrations/builds.ts';
import { helmBuild } from '../release/helm.ts';
import { ensureOwnImages, ensureProduct, offer } from './images.ts';
import { whyNoNodes } from './left-out.ts';
import { type NodeSite, RealNode } from './node.ts';
import { ensureNodePrograms, type NodePrograms } from './programs.ts';
import { alone, type Slot, takeSlot } from './slot.ts';

/** A control plane with real nodes. */
export type NodeBed = {
  readonly kind: 'started';
  readonly controlPlane: ControlPlane;
  readonly api: Api;
  readonly nodes: readonly RealNode[];
  node(name: string): RealNode;
  /** Where the image and the chart of the product are, for a bed that was started with it. */
  readonly product: string;
  stop(): Promise<void>;
};

type BedOptions = Pick<Options, 'flags' | 'audit' | 'users'> & {
  readonly nodes: number;
  /** The product's image is on every node. */
  readonly product?: boolean;
};

/** Kubelets are who they are in every cluster, and held to the rights of their own node. */
function identities(count: number): Readonly<Record<string, Identity>> {
  return {
    'kube-proxy': {
      name: 'system:kube-proxy',
      groups: ['system:authenticated'],
      namespace: 'default',
    },
    ...Object.fromEntries(
      Array.from({ length: count }, (_, at) => `node-${at + 1}`).map(name => [
        name,
        {
          name: `system:node:${name}`,
          groups: ['system:nodes', 'system:authenticated'],
          namespace: 'default',
        },
      ]),
    ),
  };
}

async function untilReady(api: Api, nodes: readonly RealNode[]): Promise<void> {
  try {
    const names = nodes.map(({ name }) => name);
    const died = Promise.race(
      nodes.map(node => node.ended.then(() => Promise.reject(new Error(`${node.name} is off`)))),
    );
    await Promise.race([died, nodesReady(api, names, { deadlineMs: 120_000, everyMs: 200 })]);
  } catch (error) {
    const consoles = nodes.map(node => `${node.name}:\n${node.console()}`).join('\n');
    throw new Error(`the nodes did not come up:\n${consoles}`, { cause: error });
  }
}

async function startNodes(
  slot: Slot,
  programs: NodePrograms,
  options: BedOptions,
  product: string,
): Promise<NodeBed> {
  const users = { ...options.users, ...identities(options.nodes) };
  const { flags, audit } = options;
  const started = await startControlPlane({
    release: newest,
    address: slot.address,
    without: ['kwok'],
    users,
    ...(flags === undefined ? {} : { flags }),
    ...(audit === undefined ? {} : { audit }),
  });
  if (started.kind === 'left-out') throw new Error(started.why);
  const site: NodeSite = {
    controlPlane: started,
    programs,
    slot,
    count: options.nodes,
    images: join(started.folder, 'images'),
  };
  const nodes = Array.from({ length: options.nodes }, (_, at) => new RealNode(site, at + 1));
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.filter(node => node.isOn).map(node => node.crash()));
    await started.stop();
    slot.release();
  };
  try {
    const own = await ensureOwnImages(programs.own);
    const archives = ['pause', 'workload'].map(name => join(own, `${name}.tar`));
    offer(site.images, ...archives, ...(product === '' ? [] : [join(product, 'drydock.tar')]));
    for (const node of nodes) await node.boot();
    await untilReady(started.api, nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const node = (name: string): RealNode => nodes.find(one => one.name === name) ?? fail(name);
  return { kind: 'started', controlPlane: started, api: started.api, nodes, node, product, stop };
}

function fail(name: string): never {
  throw new Error(`there is no node ${name}`);
}

type Made = { readonly kind: 'ready'; readonly programs: NodePrograms; readonly product: string };

async function make({ product }: BedOptions): Promise<Made | LeftOut> {
  const controlPlane = await ensureBinaries(newest, { kwok: false });
  if (controlPlane.kind === 'left-out') return controlPlane;
  const programs = await ensureNodePrograms();
  if (programs.kind === 'left-out') return programs;
  await ensureOwnImages(programs.own);
  if (product !== true) return { kind: 'ready', programs, product: '' };
  const helm = await ensureBuilt(helmBuild('4'));
  return helm.kind === 'left-out'
    ? helm
    : { kind: 'ready', programs, product: await ensureProduct() };
}

/** Starts a control plane and nodes, or says why this machine cannot. */
export async function startBed(options: BedOptions): Promise<NodeBed | LeftOut> {
  const why = whyNoNodes();
  if (why !== undefined) return { kind: 'left-out', why };
  const other = otherCluster();
  if (other !== undefined) return other;
  const made = await alone(() => make(options));
  if (made.kind === 'left-out') return made;
  const { programs, product } = made;
  const slot = takeSlot();
  try {
    return await startNodes(slot, programs, options, product);
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** For the option `skip` of tests: the reason why they cannot run, or false. */
export function skipOf(bed: NodeBed | LeftOut): string | false {
  return bed.kind === 'left-out' ? `real nodes left out: ${bed.why}` : false;
}
