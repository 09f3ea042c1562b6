import { secondsAfter } from '@drydock/apimachinery';
import {
  defaultLimits,
  type HostSnapshot,
  markOf,
  type NovaServer,
  type ServerMigration,
} from '../hypervisor/server.ts';
import { defaultServerPolicy } from '../vm/vm-status.ts';
import { at } from './make.ts';

/** Small hypervisors for tests: h1 is to be empty, and was disabled for that at 0. */

/** What a mark on the service says is taken five seconds early. */
export const slack = 5;

export function makeServer(id: string, over: Partial<NovaServer> = {}): NovaServer {
  return {
    id,
    name: `name-${id}`,
    status: 'ACTIVE',
    vmState: 'active',
    host: 'h1',
    isVolumeBacked: false,
    ...over,
  };
}

/** One off h1, asked for by us ten seconds after the beginning, and told of five seconds later. */
export function makeMove(
  id: number,
  server: string,
  status: string,
  over: Partial<ServerMigration> = {},
): ServerMigration {
  return {
    id,
    server,
    type: 'live-migration',
    status,
    source: 'h1',
    created: at(10),
    updated: at(15),
    user: 'us',
    ...over,
  };
}

const disabled = {
  id: 's',
  host: 'h1',
  isEnabled: false,
  isUp: true,
  disabledReason: markOf('drydock: ', 'm', at(0)),
};

export function makeHost(over: Partial<HostSnapshot> = {}): HostSnapshot {
  return {
    host: 'h1',
    marker: 'drydock: ',
    service: disabled,
    desired: { why: 'm', policy: defaultServerPolicy },
    desiredSince: secondsAfter(at(0), -slack),
    isReleased: false,
    servers: [],
    elsewhere: [],
    migrations: [],
    progress: new Map(),
    reasons: new Map(),
    refusals: new Map(),
    asked: new Set(),
    seenSince: new Map(),
    user: 'us',
    limits: defaultLimits,
    free: 32,
    ...over,
  };
}

/** Nobody wants it to be empty any more. */
export function makeReleased(over: Partial<HostSnapshot> = {}): HostSnapshot {
  return makeHost({ desired: undefined, isReleased: true, ...over });
}
