import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Outcome, run } from '../../control-plane/processes/command.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';

/** Ports of the services, all on 127.0.0.1. */
type Ports = Readonly<
  Record<
    'keystone' | 'nova' | 'placement' | 'neutron' | 'rabbit' | 'rabbitDistribution' | 'epmd',
    number
  >
>;

/** Where everything of one OpenStack is. */
export type Place = {
  readonly folder: string;
  readonly ports: Ports;
  /** The identity endpoint. */
  readonly keystone: string;
  readonly database: (name: string) => string;
  readonly socket: string;
  /** Writes a file of the folder and answers its path. */
  readonly write: (name: string, text: string, mode?: number) => string;
};

/** Test values: nothing but this machine can reach what they open. */
export const secrets = {
  admin: 'drydock-admin',
  service: 'drydock-service',
  database: 'drydock-database',
  queue: 'drydock-queue',
} as const;

export const region = 'RegionOne';

export async function makePlace(folder: string): Promise<Place> {
  const [
    keystone = 0,
    nova = 0,
    placement = 0,
    neutron = 0,
    rabbit = 0,
    rabbitDistribution = 0,
    epmd = 0,
  ] = await freePorts(7);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socket = join(folder, 'mysqld.sock');
  return {
    folder,
    ports: { keystone, nova, placement, neutron, rabbit, rabbitDistribution, epmd },
    keystone: `http://127.0.0.1:${keystone}/v3`,
    socket,
    database: name =>
      `mysql+pymysql://os:${secrets.database}@localhost/${name}?unix_socket=${socket}&charset=utf8`,
    write: (name, text, mode = 0o600) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, text, { mode });
      return path;
    },
  };
}

/**
 * A command with none of this process's environment: another Python in front of the path would not
 * know the packages.
 */
export function clean(
  { folder }: Place,
  command: string,
  ...args: readonly string[]
): readonly string[] {
  const environment = {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: folder,
    TMPDIR: folder,
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
  };
  return [
    '-i',
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    command,
    ...args,
  ];
}

/** Runs a command to its good end; throws with what it said when there is none. */
export async function must(
  place: Place,
  command: string,
  args: readonly string[],
  input = '',
): Promise<Outcome> {
  const outcome = await run('env', clean(place, command, ...args), {
    cwd: place.folder,
    timeoutMs: 180_000,
    input,
  });
  if (outcome.code === 0) return outcome;
  throw new Error(
    `${command} ${args.join(' ')} ended with ${outcome.code}:\n${outcome.stdout.slice(-2000)}${outcome.stderr.slice(-2000)}`,
  );
}
