import { timeText } from '@drydock/apimachinery';
import type { MachineEvent } from '@drydock/core/machine';
import { byUrgency, isOver, type MachineRequest } from '@drydock/core/machine';
import type { MaintenanceWindow } from '@drydock/core/window';
import type { AnnouncedView, MachineView, WindowView } from '../scene.ts';

/** Views of machine maintenances and windows, as pure functions of the objects. */

/** Limit of shown events; no user reads a longer list. */
const maxAnnounced = 8;

/**
 * Removes duplicates: two sources may announce the same event, which is shown once, as the more
 * urgent of them.
 */
function once(events: readonly MachineEvent[]): readonly MachineEvent[] {
  const seen = new Set<string>();
  return events.filter(({ provider, id }) => {
    const name = `${provider} ${id}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function announcedView({
  provider,
  kind,
  state,
  description,
  deadline,
  notBefore,
}: MachineEvent): AnnouncedView {
  const at = deadline ?? notBefore;
  return {
    provider,
    kind,
    state,
    ...(description !== undefined && description !== '' && { description }),
    ...(at && { at: timeText(at) }),
  };
}

/** Returns a field of a status that the operator has written. */
function textIn(
  { status }: { readonly status: Readonly<Record<string, unknown>> },
  name: string,
): string | undefined {
  const value = status[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function machineView(request: MachineRequest): MachineView {
  const { key, machineName, history, nodeName, events } = request;
  const node = history.nodeName ?? nodeName;
  const phase = history.phase ?? 'Pending';
  const strategy = history.strategy ?? request.strategy;
  const [waitingFor, begins, deadline] = ['waitingFor', 'scheduledTime', 'deadline'].map(name =>
    textIn(request, name),
  );
  return {
    key,
    machine: machineName,
    phase,
    over: isOver(phase),
    deleting: request.deleting,
    message: textIn(request, 'message') ?? '',
    since: timeText(request.createdAt),
    announced: once(events.toSorted(byUrgency)).slice(0, maxAnnounced).map(announcedView),
    ...(node !== undefined && { node }),
    ...(strategy && { strategy }),
    ...(waitingFor !== undefined && { waitingFor }),
    ...(begins !== undefined && { begins }),
    ...(deadline !== undefined && { deadline }),
  };
}

/**
 * Returns the view of a window. Its state comes from the operator's status, so that all users see
 * the same.
 */
export function windowView({ name, problem, status }: MaintenanceWindow): WindowView {
  const { open, next } = status as {
    readonly open?: boolean;
    readonly next?: { readonly startTime: string; readonly endTime: string };
  };
  const until = open === true ? next?.endTime : next?.startTime;
  return {
    key: name,
    ...(open !== undefined && { open }),
    ...(until !== undefined && { until }),
    ...(problem !== undefined && { problem }),
  };
}
