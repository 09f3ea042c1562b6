import { connect } from '@drydock/kube-client';
import type { Env, Log } from '@drydock/utils';
import { systemClock, UsageError } from '@drydock/utils';
import { pinoLog } from '@drydock/utils/pino-log';
import { connectionOf } from '../shared/connection-flags.ts';
import { stopSignal } from '../shared/on-stop.ts';
import { plainOutput, printText } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import { followNode } from './daemon.ts';
import { novaOf } from './open.ts';
import {
  hostOf,
  limitsOf,
  type NovaFlags,
  policyOf,
  release,
  runOnce,
  timeOutMs,
} from './run-once.ts';

function check({ daemon = false, runOnce = false, release = false }: NovaFlags): void {
  if ([daemon, runOnce, release].filter(Boolean).length > 1)
    throw new UsageError('choose one of --daemon, --run-once and --release');
}

async function runDaemon(flags: NovaFlags, env: Env, log: Log): Promise<void> {
  const nodeName = flags.nodeName ?? env['NODE_NAME'];
  const daemon = {
    nova: novaOf(flags, env, systemClock),
    clock: systemClock,
    log,
    limits: limitsOf(flags),
    nodeName: nodeName === '' ? undefined : nodeName,
    host: hostOf(flags),
    isHostGiven: flags.host !== undefined,
    policy: policyOf(flags),
    timeOutMs: timeOutMs(flags),
  };
  const signal = stopSignal(log);
  const connection = await connect({
    ...connectionOf(flags),
    env,
    userAgent: `drydock-nova/${version()}`,
    log,
  });
  try {
    log.info('drydock nova', { version: version(), host: daemon.host });
    await followNode({ ...daemon, watcher: connection }, signal);
  } finally {
    connection.close();
  }
}

/**
 * `drydock nova`, and `drainer`: empties the hypervisor that this machine is, once or for as long
 * as its node is out of service. Sets the exit code 1 when servers are left. Throws a UsageError
 * for errors that the caller has to correct.
 */
export async function nova(flags: NovaFlags, env: Env): Promise<void> {
  check(flags);
  const format =
    flags.logFormat ?? (process.stderr.isTTY || flags.daemon !== true ? 'text' : 'json');
  const log = pinoLog({
    format,
    level: 'info',
    stream: process.stderr,
    colour: process.stderr.isTTY,
  });
  if (flags.daemon === true) return runDaemon(flags, env, log);
  const openStack = novaOf(flags, env, systemClock);
  const { line, note } = plainOutput;
  const context = {
    nova: openStack,
    clock: systemClock,
    log,
    line,
    document: printText,
    note,
    signal: stopSignal(log),
  };
  const isDone = await (flags.release === true ? release : runOnce)(flags, context);
  if (!isDone) process.exitCode = 1;
}
