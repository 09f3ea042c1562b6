import { resolve } from 'node:path';
import { ConfigFileError, type Reader, readConfigFile } from '../config-reader.ts';
import { type HttpConfig, httpConfigOf, httpKeys } from '../http-config.ts';
import { type ReceiverKind, receiverKinds } from './formats.ts';
import { groups, isSelector } from './notification.ts';
import { defaultTemplate, fieldNames, unknownPlaceholder } from './text.ts';

/** The file of --notification-config: the receivers of notifications. */

export type ReceiverConfig = HttpConfig & {
  readonly kind: ReceiverKind;
  readonly name: string;
  /** URL, or the file that contains it: URLs of chat services are secrets. */
  readonly address: { readonly url: string } | { readonly file: string };
  /** Selectors: groups of events, or KIND/REASON. */
  readonly on: readonly string[];
  readonly template: string;
  readonly source: string;
  readonly timeoutMs: number;
};

const keys = [
  'name',
  'kind',
  'url',
  'url_file',
  'on',
  'template',
  'source',
  'timeout',
  ...httpKeys,
];

function receiverOf(reader: Reader): ReceiverConfig {
  reader.either('url', 'url_file');
  const template = reader.text('template', defaultTemplate);
  const odd = unknownPlaceholder(template);
  if (odd !== undefined)
    throw reader.wrong(
      'template',
      `has a placeholder that is not known: there are ${fieldNames.join(', ')}`,
    );
  const on = reader.texts('on', ['plans', 'blocked', 'announcements']);
  if (!on.every(isSelector))
    throw reader.wrong(
      'on',
      `has something that is neither one of ${groups.join(', ')} nor KIND/REASON`,
    );
  return {
    kind: reader.choice('kind', receiverKinds),
    name: reader.name('name', 'default'),
    address: reader.has('url_file')
      ? { file: reader.path('url_file') }
      : { url: reader.url('url') },
    on,
    template,
    source: reader.text('source', '/drydock'),
    timeoutMs: reader.duration('timeout', '10s', 100, 60_000),
    ...httpConfigOf(reader),
  };
}

/**
 * Reads the file; a missing file means no receivers. Throws a ConfigFileError that names what to
 * correct, and where.
 */
export function readReceivers(file: string): readonly ReceiverConfig[] {
  const path = resolve(file);
  const receivers =
    readConfigFile(path, ['receivers'])?.list('receivers', keys).map(receiverOf) ?? [];
  const names = receivers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigFileError(`receivers in ${path} has ${twice} twice`);
  return receivers;
}
