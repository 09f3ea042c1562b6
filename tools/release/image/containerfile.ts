import { readFileSync } from 'node:fs';
import { errorText } from '@drydock/utils';
import { root } from '../paths.ts';

/** The settings of an image, as the OCI image specification names them. */
export type Settings = {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, object>>;
};

/** Its form with brackets: the other one needs a shell. */
function list(text: string): readonly string[] {
  return JSON.parse(text) as readonly string[];
}

function port(text: string): string {
  if (!/^\d+$/.test(text)) throw new Error('it exposes ports of TCP, by number');
  return `${text}/tcp`;
}

/** NAME=VALUE, where the value may be in quotes. */
function variable(text: string): string {
  const [, name = '', value = ''] = /^(\w+)=("[^"\\$]*"|[^\s"\\$]*)$/.exec(text) ?? [];
  if (name === '') throw new Error('it sets one variable, as NAME=VALUE');
  return `${name}=${value.replaceAll('"', '')}`;
}

/** What an instruction adds to the settings before it. */
const readers: Readonly<Record<string, (text: string, before: Settings) => Partial<Settings>>> = {
  FROM: () => ({}),
  COPY: () => ({}),
  WORKDIR: WorkingDir => ({ WorkingDir }),
  ENV: (text, { Env }) => ({ Env: [...Env, variable(text)] }),
  USER: User => ({ User }),
  EXPOSE: text => ({
    ExposedPorts: Object.fromEntries(text.split(' ').map(one => [port(one), {}])),
  }),
  ENTRYPOINT: text => ({ Entrypoint: list(text) }),
  CMD: text => ({ Cmd: list(text) }),
};

/**
 * The settings that the last stage of a Containerfile makes. Throws on an instruction that is
 * unknown here, or written in another way than the ones that are read.
 */
export function settingsOf(containerfile: string): Settings {
  const none = { User: '', WorkingDir: '/', Env: [], Entrypoint: [], Cmd: [], ExposedPorts: {} };
  const [stage = ''] = containerfile.split(/^(?=FROM )/m).slice(-1);
  return stage
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .reduce<Settings>((before, line) => {
      const [, word = '', text = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
      try {
        const read = readers[word];
        if (read === undefined) throw new Error('no such instruction is read');
        return { ...before, ...read(text, before) };
      } catch (error) {
        throw new Error(
          `Containerfile: "${line}" cannot be read by tools/release/image/containerfile.ts: ${errorText(error)}`,
          { cause: error },
        );
      }
    }, none);
}

/** The settings of the image. */
export function imageSettings(): Settings {
  return settingsOf(readFileSync(`${root}Containerfile`, 'utf8'));
}
