import { shellWord } from './shared/shell.ts';

/** Shipped role that is sufficient for a command. */
const roles: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['status', 'why', 'windows', 'rehearse', 'snapshot', 'plan rehearse'].map(command => [
      command,
      'drydock-maintenance-viewer',
    ]),
  ),
  ...Object.fromEntries(
    ['maintain', 'release'].map(command => [command, 'drydock-maintenance-editor']),
  ),
  ...Object.fromEntries(
    ['drain', 'cordon', 'uncordon'].map(command => [command, 'drydock-drainer']),
  ),
  ...Object.fromEntries(
    ['plan status', 'plan history'].map(command => [command, 'drydock-plan-viewer']),
  ),
  ...Object.fromEntries(
    ['pause', 'resume', 'abort', 'rerun', 'undo', 'retry', 'skip', 'next'].map(word => [
      `plan ${word}`,
      'drydock-plan-operator',
    ]),
  ),
  ...Object.fromEntries(
    ['plan approve', 'plan promote'].map(command => [command, 'drydock-plan-approver']),
  ),
  'plan create': 'drydock-plan-author',
};

/**
 * Returns help for a user who lacks a right, from the API server's message; undefined for other
 * messages, or when no shipped role covers it.
 */
export function helpWithRights(args: readonly string[], message: string): string | undefined {
  const [, user] = / is forbidden: User "([^"]+)" cannot /.exec(message) ?? [];
  const [command = '', inner = ''] = args;
  const role = roles[command] ?? roles[`${command} ${inner}`];
  if (user === undefined || role === undefined) return undefined;
  return `help: the role ${role} is enough: kubectl create clusterrolebinding ${shellWord(`${role}-${user}`)} --clusterrole=${role} --user=${shellWord(user)}`;
}
