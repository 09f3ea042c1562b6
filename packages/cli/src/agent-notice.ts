import { pathSegment, statusMessage } from '@drydock/apimachinery';
import { nodeNotice } from '@drydock/apis';
import type { OwnMachineObservation } from '@drydock/clouds';
import { drainedForAnnotation, noticesPath } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';

type Stored = { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };

type NoticeOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly provider: string;
};

/**
 * The NodeNotice of a node. A single apply creates or changes it, and the response contains what
 * the operator notes on it: so an agent needs no right to read, which would extend to all notices.
 * `observedTime` is the time of the last change, so that an apply of the same content changes
 * nothing and the API server stores nothing.
 */
export class AgentNotice {
  readonly #options: NoticeOptions;
  #seen: { readonly text: string; readonly at: Temporal.Instant } | undefined;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /**
   * Applies the notice; resolves with the events for which the node has been drained. Rejects when
   * the notice cannot be stored.
   */
  async tell({ instance, events, trouble }: OwnMachineObservation): Promise<readonly string[]> {
    const { api, clock, nodeName, provider } = this.#options;
    const text = JSON.stringify([instance, events, trouble]);
    if (this.#seen?.text !== text) this.#seen = { text, at: clock.now() };
    const answer = await api.call({
      method: 'PATCH',
      path: `${noticesPath}/${pathSegment(nodeName)}`,
      query: { fieldManager: 'drydock-agent', force: true },
      contentType: 'application/apply-patch+yaml',
      body: nodeNotice(
        nodeName,
        { provider, instance, events, ...(trouble && { trouble }) },
        this.#seen.at,
      ),
    });
    if (answer.status !== 200 && answer.status !== 201)
      throw new Error(`cannot store the NodeNotice ${nodeName}: ${statusMessage(answer)}`);
    return ((answer.body as Stored).metadata.annotations?.[drainedForAnnotation] ?? '').split(',');
  }
}
