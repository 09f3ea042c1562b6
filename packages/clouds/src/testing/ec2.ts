import { type Answer, type ServedRequest, serving } from '@drydock/utils/testing';
import {
  type Ec2,
  type Ec2Event,
  type Ec2Failure,
  type Ec2Status,
  idsPerCall,
} from '../aws/client.ts';

/** A refusal of EC2, as it comes over the wire. */
export type Fault = { readonly status: number; readonly code: string; readonly message: string };

export type Account = {
  /** Of each instance its events, as the API would have them; `undefined` for no list at all. */
  readonly instances: ReadonlyMap<string, readonly Ec2Event[] | undefined>;
  /** Those that do not run. */
  readonly stopped?: ReadonlySet<string>;
  /** What the calls are refused with, one after the other; `undefined` lets one through. */
  readonly faults?: (Fault | undefined)[];
  /** Whether a refusal names all unknown ids, one of them, or none. EC2 names all. */
  readonly names?: 'all' | 'one' | 'none';
};

type Call = {
  readonly ids: readonly string[];
  readonly codes?: readonly string[] | undefined;
  readonly all: boolean;
  readonly maxResults: boolean;
};

const wellFormed = /^i-[0-9a-f]+$/;

function refusal(
  { instances, names = 'all' }: Account,
  { ids, maxResults }: Call,
): Fault | undefined {
  const refused = (code: string, message: string): Fault => ({ status: 400, code, message });
  if (maxResults && ids.length > 0) {
    return refused(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  }
  if (ids.length > idsPerCall) {
    return refused(
      'InvalidRequest',
      `${ids.length} exceeds the maximum number of instance IDs that can be specificied (100).`,
    );
  }
  const malformed = ids.find(id => !wellFormed.test(id));
  if (malformed !== undefined)
    return refused('InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`);
  const unknown = ids.filter(id => !instances.has(id)).slice(0, names === 'one' ? 1 : undefined);
  if (unknown.length === 0) return undefined;
  const words =
    unknown.length === 1 ? `ID '${unknown[0]}' does not` : `IDs '${unknown.join(', ')}' do not`;
  return refused(
    'InvalidInstanceID.NotFound',
    names === 'none' ? 'An instance ID does not exist' : `The instance ${words} exist`,
  );
}

function describe(account: Account, call: Call): Fault | readonly Ec2Status[] {
  const fault = account.faults?.shift() ?? refusal(account, call);
  if (fault !== undefined) return fault;
  return call.ids
    .filter(id => call.all || account.stopped?.has(id) !== true)
    .map(id => ({ InstanceId: id, Events: account.instances.get(id) }))
    .filter(
      ({ Events = [] }) =>
        call.codes === undefined || Events.some(({ Code = '' }) => call.codes?.includes(Code)),
    );
}

/** EC2 as a port, made by hand, by the rules that the real one was seen to have. */
export function fakeEc2(account: Account): Ec2 & { readonly calls: (readonly string[])[] } {
  const calls: (readonly string[])[] = [];
  return {
    calls,
    describe: async (ids, signal) => {
      signal.throwIfAborted();
      calls.push(ids);
      const answer = describe(account, { ids, all: true, maxResults: false, codes: undefined });
      if (!('code' in answer)) return { statuses: answer };
      const failure: Ec2Failure = {
        name: answer.code,
        message: answer.message,
        status: answer.status,
      };
      return { failure };
    },
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function element(name: string, value: string | Date | undefined): string {
  return value === undefined
    ? ''
    : `<${name}>${value instanceof Date ? value.toISOString() : escaped(value)}</${name}>`;
}

function eventXml({
  InstanceEventId,
  Code,
  Description,
  NotBefore,
  NotAfter,
  NotBeforeDeadline,
}: Ec2Event): string {
  return [
    element('instanceEventId', InstanceEventId),
    element('code', Code),
    element('description', Description),
    element('notAfter', NotAfter),
    element('notBefore', NotBefore),
    element('notBeforeDeadline', NotBeforeDeadline),
  ].join('');
}

function statusXml({ InstanceId, Events }: Ec2Status): string {
  const events =
    Events === undefined
      ? ''
      : `<eventsSet>${Events.map(event => `<item>${eventXml(event)}</item>`).join('')}</eventsSet>`;
  return `<item>${element('instanceId', InstanceId)}<instanceState><code>16</code><name>running</name></instanceState>${events}</item>`;
}

function xml(status: number, text: string): Answer {
  return { status, text, headers: { 'content-type': 'text/xml;charset=UTF-8' } };
}

function callOf(form: URLSearchParams): Call {
  const listed = (prefix: string): readonly string[] =>
    [...form].filter(([name]) => name.startsWith(prefix)).map(([, value]) => value);
  return {
    ids: listed('InstanceId.'),
    all: form.get('IncludeAllInstances') === 'true',
    maxResults: form.has('MaxResults'),
    codes: form.get('Filter.1.Name') === 'event.code' ? listed('Filter.1.Value.') : undefined,
  };
}

/** What DescribeInstanceStatus answers over HTTP. */
export function ec2Answer(account: Account, { body }: ServedRequest): Answer {
  const answer = describe(account, callOf(new URLSearchParams(body)));
  if ('code' in answer) {
    const error = `<Error>${element('Code', answer.code)}${element('Message', answer.message)}</Error>`;
    return xml(
      answer.status,
      `<Response><Errors>${error}</Errors><RequestID>r-1</RequestID></Response>`,
    );
  }
  const set = `<instanceStatusSet>${answer.map(statusXml).join('')}</instanceStatusSet>`;
  const name = 'DescribeInstanceStatusResponse';
  return xml(
    200,
    `<${name} xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r-1</requestId>${set}</${name}>`,
  );
}

/** EC2 over HTTP, for the real SDK. */
export function ec2Server(account: Account) {
  return serving(asked => ec2Answer(account, asked));
}
