import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { waitFor } from '../control-plane/wait.ts';
import { nodeFiles } from './node-files.ts';
import type { NodePrograms } from './programs.ts';
import { removeGroups, removeLink, type Slot } from './slot.ts';

type Service = 'containerd' | 'kubelet' | 'kube-proxy';

/** What a node is made of. */
export type NodeSite = {
  readonly controlPlane: ControlPlane;
  readonly programs: NodePrograms;
  readonly slot: Slot;
  /** How many nodes there may be: each has routes to the pods of the others. */
  readonly count: number;
  readonly images: string;
};

const inside = {
  PATH: '/opt/own:/opt/kubernetes:/opt/runtime:/opt/debian/usr/sbin:/opt/debian/usr/bin:/usr/sbin:/usr/bin',
  LD_LIBRARY_PATH: '/opt/debian/usr/lib/x86_64-linux-gnu',
  HOME: '/root',
};

async function ip(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run('/usr/sbin/ip', args);
  if (code !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

/**
 * One node: namespaces, cgroups and a disk of its own on this machine's kernel, in which kubelet,
 * kube-proxy, containerd and pods run.
 */
export class RealNode {
  readonly name: string;
  readonly address: string;
  readonly #site: NodeSite;
  readonly #number: number;
  readonly #folder: string;
  readonly #link: string;
  #running: Running | undefined;

  constructor(site: NodeSite, number: number) {
    this.#site = site;
    this.#number = number;
    this.name = `node-${number}`;
    this.address = `10.${site.slot.number}.0.1${number}`;
    this.#folder = join(site.controlPlane.folder, this.name);
    this.#link = `${site.slot.bridge}-${number}`;
  }

  #podsOf(number: number): string {
    return `10.${this.#site.slot.number}.1${number}.0/24`;
  }

  #network(): readonly (readonly string[])[] {
    const { slot, count } = this.#site;
    const others = Array.from({ length: count }, (_, at) => at + 1).filter(
      number => number !== this.#number,
    );
    return [
      ['link', 'set', 'lo', 'up'],
      ['address', 'add', `${this.address}/24`, 'dev', 'eth0'],
      ['link', 'set', 'eth0', 'up'],
      ['route', 'add', 'default', 'via', slot.address],
      ...others.map(number => [
        'route',
        'add',
        this.#podsOf(number),
        'via',
        `10.${slot.number}.0.1${number}`,
      ]),
    ];
  }

  #config(): object {
    const { controlPlane, programs, slot, images } = this.#site;
    const identity = {
      name: this.name,
      user: this.name,
      address: this.address,
      pods: this.#podsOf(this.#number),
    };
    const { own, kubernetes, runtime, debian } = programs;
    const etc = '/etc/kubernetes';
    const kubelet = [
      '--config',
      `${etc}/kubelet.yaml`,
      '--kubeconfig',
      `${etc}/kubelet.kubeconfig`,
    ];
    return {
      name: this.name,
      folder: this.#folder,
      mounts: {
        'opt/own': own,
        'opt/kubernetes': kubernetes,
        'opt/runtime': runtime,
        'opt/debian': debian,
        'opt/images': images,
      },
      cgroup: `${slot.cgroup}/${this.name}`,
      bridge: slot.bridge,
      link: this.#link,
      network: this.#network(),
      files: nodeFiles(controlPlane, identity),
      services: [
        { name: 'containerd', command: ['containerd'] },
        {
          name: 'kubelet',
          command: [
            'node',
            'kubelet',
            ...kubelet,
            '--hostname-override',
            this.name,
            '--node-ip',
            this.address,
          ],
        },
        {
          name: 'kube-proxy',
          command: ['node', 'kube-proxy', '--config', `${etc}/kube-proxy.yaml`],
        },
      ],
    };
  }

  /** Its namespaces, boot ID and /run are new; its disk is as it was. */
  async boot(): Promise<void> {
    const { controlPlane, programs } = this.#site;
    mkdirSync(join(this.#folder, 'control'), { recursive: true });
    mkdirSync(join(this.#folder, 'root', 'etc', 'kubernetes', 'manifests'), { recursive: true });
    writeFileSync(join(this.#folder, 'boot_id'), `${randomUUID()}\n`);
    const config = join(this.#folder, 'boot.json');
    writeFileSync(config, JSON.stringify(this.#config()), { mode: 0o600 });
    await ip(
      'route',
      'replace',
      this.#podsOf(this.#number),
      'via',
      this.address,
      'dev',
      this.#site.slot.bridge,
    );
    this.#running = controlPlane.run({
      name: `${this.name}-console`,
      command: join(programs.own, 'boot'),
      args: ['start', config],
      environment: inside,
    });
  }

  get #powered(): Running {
    if (this.#running === undefined) throw new Error(`${this.name} has never been on`);
    return this.#running;
  }

  /** Resolves when it goes off, however that comes about. */
  get ended(): Promise<number> {
    return this.#powered.ended;
  }

  get isOn(): boolean {
    return this.#running?.alive() === true;
  }

  /** What its first process has printed, for messages. */
  console(): string {
    return this.#powered.tail();
  }

  /**
   * It loses its power: all that runs on it is gone at once. The link goes first, or dying sockets
   * would say FIN and RST.
   */
  async crash(): Promise<void> {
    if (existsSync(`/sys/class/net/${this.#link}`)) await this.cutNetwork();
    await this.#powered.signal('SIGKILL');
    await this.#off();
  }

  /** It is told to shut down: everything gets a SIGTERM. */
  async shutDown(): Promise<void> {
    await this.#powered.signal('SIGTERM');
    await this.#off();
  }

  async #off(): Promise<void> {
    await this.#powered.ended;
    removeLink(this.#link);
    const group = `${this.#site.slot.cgroup}/${this.name}`;
    const gone = async (): Promise<{ readonly done: undefined }> => {
      removeGroups(group);
      return { done: undefined };
    };
    await waitFor(`the cgroups of ${this.name} to be empty`, gone, { deadlineMs: 20_000 });
  }

  /**
   * Waits until it goes down by itself, as one that was told to reboot, and switches it on again.
   */
  async rebootsItself(): Promise<void> {
    await this.#off();
    await this.boot();
  }

  async reboot(): Promise<void> {
    await this.crash();
    await this.boot();
  }

  /** What it sends and what is sent to it is lost, without a word. */
  async cutNetwork(): Promise<void> {
    await ip('link', 'set', this.#link, 'nomaster');
  }

  async mendNetwork(): Promise<void> {
    await ip('link', 'set', this.#link, 'master', this.#site.slot.bridge);
  }

  /** Kills it; it stays away until it is started. */
  stopService(service: Service): void {
    writeFileSync(join(this.#folder, 'control', `stopped.${service}`), '');
  }

  startService(service: Service): void {
    rmSync(join(this.#folder, 'control', `stopped.${service}`));
  }

  /** Runs a program in the node. */
  async exec(...command: readonly string[]): Promise<Outcome> {
    const first = readFileSync(join(this.#folder, 'pid'), 'utf8');
    return run('/usr/bin/nsenter', ['--target', first, '--all', '--', ...command], {
      environment: inside,
    });
  }

  /** Of its disk, from outside. */
  path(name: string): string {
    return join(this.#folder, 'root', name);
  }
}
