import { problemWrite } from '@drydock/core/maintenance';
import type { MaintenanceRequest, Problem } from '@drydock/core/request';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { Writer } from '../write/writer.ts';

type Options = {
  readonly clock: Clock;
  readonly defects: PanicHandler;
  readonly writer: Pick<Writer, 'write'>;
};

/**
 * Writes into the status of these maintenances what keeps them from being worked on at all. Never
 * rejects.
 */
export async function tellProblem(
  nodeName: string,
  requests: readonly MaintenanceRequest[],
  problem: Problem,
  { clock, defects, writer }: Options,
): Promise<void> {
  const now = clock.now();
  for (const request of requests) {
    // A kind whose adapter throws here as well does not affect the others.
    const write = defects.guard(
      'Node',
      () => request.key,
      () => problemWrite(request, problem, now),
      undefined,
    );
    if (write !== undefined) await writer.write(write, nodeName);
  }
}
