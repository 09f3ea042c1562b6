import type { MachineEvent } from '../../core/machine/event.ts';
import type { Clock } from '../../support/clock.ts';
import { Deadline } from '../../support/deadline.ts';
import type { Told, Trouble } from '../trouble.ts';

/** Where every cloud answers a machine about itself. */
const metadataBase = 'http://169.254.169.254';

/** How a reader gets at the metadata service. */
export type MetadataAccess = {
  /** Left out: `http://169.254.169.254`. */
  readonly base?: string;
  readonly clock: Clock;
  /** Told in every event as its source. */
  readonly source: string;
};

export type Question = {
  readonly path: string;
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
};

export type Reply = { readonly status: number; readonly text: string; readonly headers: Headers };

/** What a reader offers. `urgent` is asked every few seconds, `scheduled` every half minute. None of them rejects but for an aborted signal. */
export interface MetadataReader {
  /** The machine as the cloud calls it: what the last part of its providerID is. */
  identity(signal: AbortSignal): Promise<Told<string>>;
  urgent(signal: AbortSignal): Promise<Told<readonly MachineEvent[]>>;
  scheduled(signal: AbortSignal): Promise<Told<readonly MachineEvent[]>>;
}

const longestReply = 1 << 20;

/** Undefined when it is too long to be what was asked for. */
const textOf = async (response: Response): Promise<string | undefined> => {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestReply) return undefined;
  }
  return text + decoder.decode();
};

/** The innermost reason: fetch itself only says that it failed. */
const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
};

/**
 * Asks the metadata service once. An answer of any status is told; none within the time limit (5 s when left out) is the trouble Unreachable.
 * It rejects with the signal's reason when that is aborted. Redirects are not followed: a metadata service sends none.
 */
export const askMetadata = async (access: MetadataAccess, question: Question, signal: AbortSignal): Promise<Told<Reply>> => {
  const { path, method = 'GET', headers = {}, body, timeoutMs = 5000 } = question;
  const url = `${access.base ?? metadataBase}${path}`;
  signal.throwIfAborted();
  using deadline = new Deadline(access.clock, timeoutMs, [signal]);
  try {
    const response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: deadline.signal,
    });
    const text = await textOf(response);
    if (text !== undefined) return { told: { status: response.status, text, headers: response.headers } };
    return {
      trouble: { reason: 'Failed', message: `${method} ${url}: its answer is longer than ${longestReply} characters; it is asked again.` },
    };
  } catch (error) {
    signal.throwIfAborted();
    const message = `${method} ${url}: ${deadline.expired ? `no answer within ${timeoutMs / 1000} s` : causeOf(error)}.`;
    return { trouble: { reason: 'Unreachable', message: `${message} Run the agent on a cloud's machine, with hostNetwork.` } };
  }
};

/** The service has answered, but not with what was asked for. */
export const unexpected = (path: string, { status, text }: Reply, help = 'It is asked again.'): Trouble => {
  const said = text.trim().replace(/\s+/g, ' ').slice(0, 100);
  return {
    reason: 'Failed',
    message: `The metadata service answered ${path} with HTTP ${status}${said === '' ? '' : `: ${said}`}. ${help}`,
  };
};

/** Reads JSON; what is none is trouble. */
export const parsed = (path: string, reply: Reply): Told<unknown> => {
  try {
    return { told: JSON.parse(reply.text) as unknown };
  } catch {
    return { trouble: unexpected(path, reply, 'That is not JSON; it is asked again.') };
  }
};
