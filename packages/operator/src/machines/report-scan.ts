import { pathSegment, statusChange, timeText } from '@drydock/apimachinery';
import type { MachineAdapter } from '@drydock/core/machine';
import {
  type EventSource,
  type ScanResult,
  sourceSubject,
  sourcesPath,
} from '@drydock/core/machine';
import type { Recorder } from '@drydock/kube-client';
import type { Writer } from '../write/writer.ts';

/** Reports the result of a scan: in the status of its source, and problems as events as well. */

type Complaint = { readonly reason: string; readonly message: string };

function few(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}

function complaints({ trouble, unknown, withoutProviderId }: ScanResult): readonly Complaint[] {
  const strangers = `The cloud does not know ${few(unknown)}: check the account and the region, or whether these machines are gone`;
  const silent = `These Machines have no spec.providerID, so the cloud cannot be asked about them: ${few(withoutProviderId)}`;
  return [
    ...(trouble ? [trouble] : []),
    ...(unknown.length > 0 ? [{ reason: 'InstanceUnknown', message: strangers }] : []),
    ...(withoutProviderId.length > 0 ? [{ reason: 'NoProviderID', message: silent }] : []),
  ];
}

/**
 * Reports a scan. Never rejects: a status that could not be written is written after the next scan.
 */
export async function reportScan(
  source: EventSource,
  result: ScanResult,
  {
    adapter,
    writer,
    recorder,
  }: { readonly adapter: MachineAdapter; readonly writer: Writer; readonly recorder: Recorder },
): Promise<void> {
  const patch = statusChange(source.status, adapter.sourceStatus(source, result));
  if (patch !== undefined) {
    const write = {
      description: `report the scan of ${timeText(result.at)}`,
      method: 'PATCH',
      style: 'merge',
      path: `${sourcesPath}/${pathSegment(source.name)}/status`,
      body: { status: patch },
      cache: 'machineEventSources',
      events: [],
    } as const;
    await writer.write(write, source.name);
  }
  for (const { reason, message } of complaints(result)) {
    recorder.record({
      type: 'Warning',
      reason,
      message,
      component: 'drydock',
      about: sourceSubject(source),
    });
  }
}
