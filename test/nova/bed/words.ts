import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type HarnessSettings, writeConfig } from './config.ts';
import type { Place } from './place.ts';

/** Words of OpenStack in what `config.ts` writes: they are not ours to rename. */
export type Words = {
  /** Names of options, by service and section. */
  readonly options: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** What the pipelines of Nova and Neutron are made of. */
  readonly factories: readonly string[];
};

const settings: HarnessSettings = {
  driver: 'fake.MediumFakeDriver',
  migrationsAtOnce: 1,
  pageSize: 1,
  tokenSeconds: 1,
};

/** Texts of the files, by name. */
function writtenFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const place: Place = {
    folder: '/openstack',
    ports: {
      keystone: 1,
      nova: 2,
      placement: 3,
      neutron: 4,
      rabbit: 5,
      rabbitDistribution: 6,
      epmd: 7,
    },
    keystone: 'http://127.0.0.1:1/v3',
    socket: '/openstack/mysqld.sock',
    database: name => `mysql+pymysql://${name}`,
    write: (name, text) => {
      files.set(name, text);
      return name;
    },
  };
  writeConfig(place, settings, ['compute-1']);
  return files;
}

type Line = { readonly section: string; readonly option: string; readonly value: string };

function linesOf(text: string): readonly Line[] {
  let section = '';
  return text.split('\n').flatMap(line => {
    const [, head] = /^\[(.+)\]$/.exec(line) ?? [];
    if (head !== undefined) section = head;
    const [, option, value] = /^(.+?) = (.*)$/.exec(line) ?? [];
    return head !== undefined || option === undefined || value === undefined
      ? []
      : [{ section, option, value }];
  });
}

function bySection(lines: readonly Line[]): Readonly<Record<string, readonly string[]>> {
  const names = Object.groupBy(lines, ({ section }) => section);
  return Object.fromEntries(
    Object.entries(names)
      .map(
        ([section, own = []]) =>
          [section, [...new Set(own.map(({ option }) => option))].toSorted()] as const,
      )
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** All that `config.ts` writes. */
export function writtenWords(): Words {
  const files = [...writtenFiles()];
  const services = ['keystone', 'neutron', 'nova', 'placement'];
  const linesIn = (service: string, kind: string): readonly Line[] =>
    files.flatMap(([name, text]) =>
      name.startsWith(`etc/${service}/`) && name.endsWith(kind) ? linesOf(text) : [],
    );
  const pipelines = services.flatMap(service => linesIn(service, '.ini'));
  const factories = pipelines.flatMap(({ option, value }) => {
    if (option.startsWith('paste.')) return [value];
    return value.startsWith('call:') ? [value.slice('call:'.length)] : [];
  });
  return {
    options: Object.fromEntries(
      services.map(service => [service, bySection(linesIn(service, '.conf'))]),
    ),
    factories: [...new Set(factories)].toSorted(),
  };
}

/** Of the words as they are recorded, so that whatever renames in all files at once is seen. */
export function digestOf(words: Words): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex');
}

export const recordedFile = join(import.meta.dirname, 'words.json');

/** What a real OpenStack has been seen to know, with its digest. */
export function recordedWords(): { readonly words: Words; readonly sha256: string } {
  return JSON.parse(readFileSync(recordedFile, 'utf8')) as {
    readonly words: Words;
    readonly sha256: string;
  };
}
