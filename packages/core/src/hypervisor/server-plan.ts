import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { defaultServerPolicy, type ServerPolicy, type VmStatus } from '../vm/vm-status.ts';
import {
  type HostCall,
  type HostSnapshot,
  isQueued,
  type NovaServer,
  type ServerMigration,
} from './server.ts';
import {
  isMigrationStuck,
  isOurs,
  isStuck,
  type ServerHistory,
  serverHistoryOf,
  timeLimitText,
} from './server-history.ts';

/** Remedies for Nova's reasons; the first match applies. No other code parses the reasons. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /no ?valid ?host/i,
    'make room for it on an enabled host that fits it (capacity, availability zone, server group, traits), or stop or delete it',
  ],
  [
    /is unavailable at this time|not available|could not be found/i,
    'start nova-compute on the hosts that are down',
  ],
  [/policy doesn't allow|forbidden/i, 'give the user of Drydock the role admin'],
  [
    /shared storage|block migration/i,
    "make the hosts' storage the same, or stop it so that it is moved cold",
  ],
  [/was aborted/i, 'nothing, if it was aborted by mistake: it is tried again'],
];

/** Returns the remedy for people. */
function remedyFor(reason: string): string {
  return (
    remedies.find(([pattern]) => pattern.test(reason))?.[1] ??
    'see the logs of nova-compute on both hosts, and `openstack server event list`'
  );
}

/** Plan for one server. */
export type ServerPlan = {
  readonly server: NovaServer;
  readonly standing: VmStatus;
  /** Call that may be sent now. Calls that begin a migration wait for their turn. */
  readonly call?: HostCall;
};

type Words = Omit<VmStatus, 'platform' | 'id' | 'name'>;

function standing({ id, name }: NovaServer, words: Words): VmStatus {
  return { platform: 'OpenStack', id, name, ...words };
}

type Trouble = readonly [message: string, remedy: string];

const resized: Trouble = [
  'waits for somebody to confirm or revert its resize',
  'confirm it (`openstack server resize confirm`) or revert it (`openstack server resize revert`)',
];

/** Texts for states in which Nova moves nothing. */
const stuck: Readonly<Record<string, Trouble>> = {
  error: [
    'is in error, and Nova moves no such servers',
    'reset its state (`openstack server set --state active`), rebuild it or delete it',
  ],
  resized,
  suspended: [
    'is suspended, and Nova moves no such servers',
    'resume it (`openstack server resume`), or stop it after that',
  ],
  rescued: [
    'is in rescue mode, and Nova moves no such servers',
    'end that (`openstack server unrescue`)',
  ],
  shelved: [
    'is shelved with its disk on this host',
    'offload it (`openstack server shelve --offload`) or unshelve it',
  ],
  'soft-delete': [
    'is deleted and can still be restored, on this host',
    'delete it for good (`openstack server delete --force`) or restore it',
  ],
};

function moving(
  server: NovaServer,
  migration: ServerMigration,
  progress: number | undefined,
): VmStatus {
  const { source, target, status, created } = migration;
  return standing(server, {
    state: 'Migrating',
    message: isQueued(migration) ? "waits in Nova's own queue" : `migration is ${status}`,
    since: created,
    ...(progress !== undefined && { progress }),
    ...(target !== undefined && target !== source && { target }),
  });
}

/**
 * Number of tries from which people are informed that the server cannot move; it is retried after
 * that as well.
 */
const patience = 3;

function failing(server: NovaServer, { tries, reason = '' }: ServerHistory): VmStatus {
  return tries < patience
    ? standing(server, {
        state: 'Waiting',
        message: `tried ${tries === 2 ? 'twice' : 'once'}: ${reason}`,
      })
    : standing(server, {
        state: 'Cannot',
        message: reason,
        remedy: `${remedyFor(reason)}; retried with pauses of up to 10 minutes`,
      });
}

/** Returns the plan for a server that can be moved: now, or after a pause. */
function movable(
  snapshot: HostSnapshot,
  server: NovaServer,
  track: ServerHistory,
  kind: 'live-migrate' | 'cold-migrate',
  now: Temporal.Instant,
): ServerPlan {
  const isDue = track.next === undefined || !isBefore(now, track.next);
  const waits = track.tries === 0 ? standing(server, { state: 'Waiting' }) : failing(server, track);
  if (!snapshot.service.isUp) {
    const message = `nova-compute on ${snapshot.host} is down, so that Nova moves nothing off it`;
    return {
      server,
      standing: standing(server, {
        state: 'Cannot',
        message,
        remedy: 'start it, or evacuate the host if it is dead',
      }),
    };
  }
  return { server, standing: waits, ...(isDue && { call: { kind, server: server.id } }) };
}

function left(server: NovaServer, message: string): ServerPlan {
  return { server, standing: standing(server, { state: 'Left', message }) };
}

function byState(
  snapshot: HostSnapshot,
  server: NovaServer,
  track: ServerHistory,
  now: Temporal.Instant,
): ServerPlan {
  const policy: ServerPolicy = snapshot.desired?.policy ?? defaultServerPolicy;
  const { vmState } = server;
  if (vmState === 'error' && policy.failed === 'Leave')
    return left(server, 'in error; the policy leaves such servers');
  if (vmState === 'active' || vmState === 'paused' || vmState === 'stopped') {
    if (policy[vmState] === 'Leave')
      return left(server, `${vmState}; the policy leaves such servers`);
    if (!server.isVolumeBacked && policy.localDisk === 'Leave')
      return left(server, 'its disk is on the host; the policy leaves such servers');
    return movable(
      snapshot,
      server,
      track,
      vmState === 'stopped' ? 'cold-migrate' : 'live-migrate',
      now,
    );
  }
  const [message, remedy] = stuck[vmState] ?? [
    `is ${vmState}, and Nova moves no such servers`,
    'bring it into another state, or delete it',
  ];
  return { server, standing: standing(server, { state: 'Cannot', message, remedy }) };
}

/** Returns how a user makes Nova release the server, if nothing works on it any more. */
function releaseRemedy(task: string): string {
  return task.includes('delet')
    ? 'see why in `openstack server event list` and the logs of nova-compute; then delete it again (`openstack server delete --force`)'
    : 'see why in `openstack server event list` and the logs of nova-compute; when nothing works on it any more, clear the task (`openstack server set --state active`)';
}

function hanging(server: NovaServer, task: string): ServerPlan {
  const message = `hangs: Nova has been at ${task} for more than ${timeLimitText(task)}`;
  return {
    server,
    standing: standing(server, { state: 'Cannot', message, remedy: releaseRemedy(task) }),
  };
}

function busy(
  snapshot: HostSnapshot,
  server: NovaServer,
  task: string,
  now: Temporal.Instant,
): ServerPlan {
  if (isStuck(snapshot, server, task, now)) return hanging(server, task);
  const message = task.includes('delet') ? 'is being deleted' : `Nova is busy with it: ${task}`;
  return { server, standing: standing(server, { state: 'Waiting', message }) };
}

/**
 * Returns the plan for a server with a task and an open record of a migration: both have to end.
 */
function onItsWay(
  snapshot: HostSnapshot,
  server: NovaServer,
  current: ServerMigration,
  now: Temporal.Instant,
): ServerPlan {
  if (!isMigrationStuck(snapshot, current, server, now))
    return { server, standing: moving(server, current, snapshot.progress.get(server.id)) };
  const message = `hangs: its migration is ${current.status}, and Nova has not written to it for long`;
  return {
    server,
    standing: standing(server, {
      state: 'Cannot',
      message,
      remedy: releaseRemedy(server.taskState ?? ''),
    }),
  };
}

/**
 * Returns the plan for a move that was just accepted: the record of its migration is about to be
 * created.
 */
function accepted(snapshot: HostSnapshot, server: NovaServer, now: Temporal.Instant): ServerPlan {
  return isStuck(snapshot, server, 'migrating', now)
    ? hanging(server, 'migrating')
    : {
        server,
        standing: standing(server, { state: 'Migrating', message: 'migration is accepted' }),
      };
}

/**
 * Reports whether the record is fresh. Nova clears the task before it ends the record, a moment
 * later. A record that stays open without a task is the remainder of an earlier failure.
 */
function isFresh({ updated }: ServerMigration, now: Temporal.Instant): boolean {
  return isBefore(now, secondsAfter(updated, 60));
}

/** Returns the plan for a server that is on the host. */
export function planServer(
  snapshot: HostSnapshot,
  server: NovaServer,
  now: Temporal.Instant,
): ServerPlan {
  const track = serverHistoryOf(snapshot, server.id);
  const { taskState, vmState } = server;
  // Nova leaves task states on servers in error when it is killed; they never end.
  if (vmState !== 'error' && taskState !== undefined) {
    if (track.current !== undefined) return onItsWay(snapshot, server, track.current, now);
    return taskState === 'migrating'
      ? accepted(snapshot, server, now)
      : busy(snapshot, server, taskState, now);
  }
  if (vmState !== 'error' && track.current !== undefined && isFresh(track.current, now)) {
    return { server, standing: moving(server, track.current, undefined) };
  }
  if (vmState === 'building') return busy(snapshot, server, 'building', now);
  return byState(snapshot, server, track, now);
}

/** Returns the plan for a server that has left the host, or is about to be elsewhere. */
export function planDepartedServer(
  snapshot: HostSnapshot,
  server: NovaServer,
  now: Temporal.Instant,
): ServerPlan | undefined {
  const { current, done } = serverHistoryOf(snapshot, server.id);
  const target = server.host;
  if (current !== undefined && server.vmState === 'resized') {
    const [message, remedy] = resized;
    if (!isOurs(snapshot, current))
      return { server, standing: standing(server, { state: 'Cannot', message, remedy }) };
    return {
      server,
      standing: moving(server, current, undefined),
      call: { kind: 'confirm', server: server.id },
    };
  }
  if (current !== undefined && server.taskState !== undefined)
    return onItsWay(snapshot, server, current, now);
  if (done === undefined && current === undefined) return undefined;
  const since = done?.updated;
  return {
    server,
    standing: standing(server, {
      state: 'Moved',
      ...(target !== undefined && { target }),
      ...(since && { since }),
    }),
  };
}
