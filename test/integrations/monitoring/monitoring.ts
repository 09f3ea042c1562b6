import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientA, serverPair, testAuthority } from '@drydock/kube-client/testing';
import type { GoBuild } from '../../control-plane/build/go-build.ts';
import { run } from '../../control-plane/processes/command.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';
import type { Running } from '../../control-plane/processes/process.ts';
import type { ControlPlane } from '../../control-plane/types.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { ensureController, type LeftOut } from '../builds.ts';
import { sourcesOf } from '../installed.ts';

/**
 * A real Prometheus and a real Alertmanager on this machine, what they scrape, and what stands in
 * front of them in a cluster.
 */

const strip = ['-ldflags', '-s -w'];

const prometheusBuild: GoBuild = {
  name: 'integrations/prometheus',
  module: join(import.meta.dirname, 'prometheus'),
  // Half of its code finds targets in clouds.
  salt: 'remove_all_sd',
  announcement: 'building Prometheus for the tests, two to five minutes the first time,',
  build: (folder, go) =>
    go([
      'build',
      '-tags',
      'remove_all_sd',
      ...strip,
      '-o',
      join(folder, 'prometheus'),
      'github.com/prometheus/prometheus/cmd/prometheus',
    ]),
};

const alertmanagerModule = 'github.com/prometheus/alertmanager';

const alertmanagerBuild: GoBuild = {
  name: 'integrations/alertmanager',
  module: join(import.meta.dirname, 'alertmanager'),
  salt: 'no page',
  announcement: 'building Alertmanager for the tests, one to three minutes the first time,',
  build: async (folder, go) => {
    const { module } = alertmanagerBuild;
    await go(['mod', 'download', alertmanagerModule]);
    // The module is published without the page that it embeds, and does not build so: a copy has an
    // empty one.
    const copy = mkdtempSync(join(tmpdir(), 'drydock-alertmanager-'));
    try {
      const sources = join(copy, 'sources');
      cpSync(await sourcesOf(module, alertmanagerModule), sources, { recursive: true });
      await writable(sources);
      mkdirSync(join(sources, 'ui', 'app', 'dist'), { recursive: true });
      writeFileSync(join(sources, 'ui', 'app', 'dist', 'index.html'), '<!doctype html>\n');
      for (const file of ['go.mod', 'go.sum']) {
        copyFileSync(join(module, file), join(copy, file));
        chmodSync(join(copy, file), 0o644);
      }
      const goMod = join(copy, 'go.mod');
      await go(['mod', 'edit', '-replace', `${alertmanagerModule}=${sources}`, goMod]);
      const from = ['-modfile', goMod, ...strip];
      await go([
        'build',
        ...from,
        '-o',
        join(folder, 'alertmanager'),
        `${alertmanagerModule}/cmd/alertmanager`,
      ]);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  },
};

/** What is in the cache of modules may not be written, nor what is copied from it. */
async function writable(folder: string): Promise<void> {
  const { code, stderr } = await run('chmod', ['-R', 'u+w', folder]);
  if (code !== 0) throw new Error(`chmod ended with ${code}: ${stderr}`);
}

/** Alerts as soon as an error or a fault is measured; of the two, an outage inhibits errors. */
const rules = `
groups:
  - name: test
    interval: 250ms
    rules:
      - {alert: ManyErrors, expr: test_errors > 0.01, labels: {severity: critical}}
      - {alert: Outage, expr: test_outage > 0, labels: {severity: critical, kind: outage}}
      - {alert: Untidy, expr: test_untidy > 0, labels: {severity: info}}
`;

function prometheusConfig(exporter: number, alertmanager: number): string {
  return `
global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:${alertmanager}']}]}]}
scrape_configs: [{job_name: test, static_configs: [{targets: ['127.0.0.1:${exporter}']}]}]
`;
}

const alertmanagerConfig = `
route: {receiver: nobody, group_wait: 100ms}
receivers: [{name: nobody}]
inhibit_rules: [{source_matchers: ['alertname="Outage"'], target_matchers: ['alertname="ManyErrors"']}]
`;

/** The password is `open sesame`. */
function webConfig(folder: string): string {
  return `
tls_server_config: {cert_file: ${folder}/server.crt, key_file: ${folder}/server.key, client_ca_file: ${folder}/ca.crt, client_auth_type: RequireAndVerifyClientCert}
basic_auth_users: {drydock: '$2a$04$9fXR.gBFFuBF2crUZHQkUuZ7z4MWBYt7m47ZCCY5h78fl5AjXZKrq'}
`;
}

const listening = (server: Server): Promise<number> =>
  // A test that fails on its way here must be able to end all the same.
  new Promise(resolve =>
    server.unref().listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );

/** Serves what is measured, as an exporter does. */
function exporterOf(metrics: ReadonlyMap<string, string>): Server {
  return createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end([...metrics].map(([series, value]) => `${series} ${value}\n`).join(''));
  });
}

/**
 * In front of a server as in a cluster: TLS, and a token that every request has to show. Counts
 * requests, and remembers their headers.
 */
type Guard = { readonly url: string; token: string; requests: number; close(): void };

async function guardOf(target: string): Promise<Guard> {
  const server = createTlsServer(
    { cert: serverPair.cert, key: serverPair.key },
    (request, response) => {
      guard.requests += 1;
      void (async (): Promise<void> => {
        if (request.headers.authorization !== `Bearer ${guard.token}`) {
          response
            .writeHead(401)
            .end(JSON.stringify({ error: `not allowed: ${request.headers.authorization}` }));
          return;
        }
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part as Buffer);
        const { method = 'GET', url = '' } = request;
        const type = request.headers['content-type'];
        const body = method === 'POST' ? { body: Buffer.concat(parts) } : {};
        const answer = await fetch(`${target}${url}`, {
          method,
          ...body,
          ...(type !== undefined && { headers: { 'content-type': type } }),
        });
        response
          .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
          .end(await answer.text());
      })().catch(() => response.writeHead(502).end());
    },
  );
  const port = await listening(server);
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  const guard: Guard = {
    url: `https://127.0.0.1:${port}`,
    token: 'first-token',
    requests: 0,
    close,
  };
  return guard;
}

/**
 * One of them: it can be away for a while, and comes back at the same address with what it has
 * stored.
 */
type Service = { readonly url: string; start(): Promise<void>; stop(): Promise<void> };

function serviceOf(
  controlPlane: ControlPlane,
  url: string,
  ready: () => Promise<boolean>,
  command: string,
  args: readonly string[],
): Service {
  let count = 0;
  let running: Running | undefined;
  return {
    url,
    start: async () => {
      count += 1;
      const name = `${command.split('/').at(-1)}-${new URL(url).port}-${count}`;
      const begun = controlPlane.run({ name, command, args, patience: '5s' });
      running = begun;
      await waitFor(`${name} to be ready`, async () =>
        (await ready()) ? { done: undefined } : { yet: begun.tail() },
      );
    },
    stop: async () => running?.stop(),
  };
}

export type RealMonitoring = {
  readonly kind: 'started';
  /** Value by series, for example `test_errors{app="a"}`. */
  readonly metrics: Map<string, string>;
  readonly prometheus: Service;
  /** The same program with TLS, a certificate asked of clients, and a password. */
  readonly closedPrometheus: Service;
  readonly alertmanager: Service;
  /** In front of the first Prometheus. */
  readonly guard: Guard;
  /** Has ca.crt, client.crt and client.key. */
  readonly folder: string;
  /** Silences alerts of this name; the answer ends that. */
  silence(name: string): Promise<() => Promise<void>>;
  stop(): Promise<void>;
};

async function mustFetch(url: string, options: RequestInit = {}): Promise<Response> {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

function silencer(url: string): RealMonitoring['silence'] {
  return async name => {
    const matchers = [{ name: 'alertname', value: name, isRegex: false, isEqual: true }];
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = JSON.stringify({
      matchers,
      startsAt: new Date().toISOString(),
      endsAt,
      createdBy: 'test',
      comment: 'test',
    });
    const headers = { 'content-type': 'application/json' };
    const answer = await mustFetch(`${url}/api/v2/silences`, { method: 'POST', headers, body });
    const { silenceID } = (await answer.json()) as { readonly silenceID: string };
    return async () =>
      void (await mustFetch(`${url}/api/v2/silence/${silenceID}`, { method: 'DELETE' }));
  };
}

function writeFiles(folder: string, exporter: number, alertmanager: number): void {
  mkdirSync(folder, { recursive: true });
  const files = {
    'ca.crt': testAuthority,
    'server.crt': serverPair.cert,
    'server.key': serverPair.key,
    'client.crt': clientA.cert,
    'client.key': clientA.key,
    'web.yaml': webConfig(folder),
    'rules.yaml': rules,
    'prometheus.yaml': prometheusConfig(exporter, alertmanager),
    'closed.yaml': 'global: {scrape_interval: 1h}\n',
    'alertmanager.yaml': alertmanagerConfig,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(url)).ok;
}

/**
 * Builds and starts them beside a control plane, which holds them; or says why this machine cannot.
 */
export async function startMonitoring(
  controlPlane: ControlPlane,
): Promise<RealMonitoring | LeftOut> {
  const builds = {
    prometheus: await ensureController(prometheusBuild),
    alertmanager: await ensureController(alertmanagerBuild),
  };
  if (builds.prometheus.kind === 'left-out') return builds.prometheus;
  if (builds.alertmanager.kind === 'left-out') return builds.alertmanager;
  const [open = 0, closed = 0, alerting = 0] = await freePorts(3);
  const metrics = new Map<string, string>();
  const exporter = exporterOf(metrics);
  const folder = join(controlPlane.folder, 'monitoring');
  writeFiles(folder, await listening(exporter), alerting);
  const at = (port: number): string => `127.0.0.1:${port}`;
  const program = join(builds.prometheus.folder, 'prometheus');
  const argsOf = (name: string, port: number): readonly string[] => [
    `--config.file=${folder}/${name}.yaml`,
    `--web.listen-address=${at(port)}`,
    `--storage.tsdb.path=${folder}/${name}`,
    '--rules.alert.resend-delay=500ms',
  ];
  const ready =
    (port: number): (() => Promise<boolean>) =>
    () =>
      answers(`http://${at(port)}/-/ready`);
  const prometheus = serviceOf(
    controlPlane,
    `http://${at(open)}`,
    ready(open),
    program,
    argsOf('prometheus', open),
  );
  const isListening = (): Promise<boolean> => fetch(`http://${at(closed)}/`).then(() => true);
  const closedArgs = [...argsOf('closed', closed), `--web.config.file=${folder}/web.yaml`];
  const closedPrometheus = serviceOf(
    controlPlane,
    `https://${at(closed)}`,
    isListening,
    program,
    closedArgs,
  );
  const alertmanager = serviceOf(
    controlPlane,
    `http://${at(alerting)}`,
    ready(alerting),
    join(builds.alertmanager.folder, 'alertmanager'),
    [
      `--config.file=${folder}/alertmanager.yaml`,
      `--web.listen-address=${at(alerting)}`,
      `--storage.path=${folder}/alertmanager`,
      '--cluster.listen-address=',
    ],
  );
  const guard = await guardOf(prometheus.url);
  await Promise.all([prometheus.start(), closedPrometheus.start(), alertmanager.start()]);
  return {
    kind: 'started',
    metrics,
    prometheus,
    closedPrometheus,
    alertmanager,
    guard,
    folder,
    silence: silencer(alertmanager.url),
    stop: async () => {
      await Promise.all([prometheus.stop(), closedPrometheus.stop(), alertmanager.stop()]);
      guard.close();
      exporter.closeAllConnections();
      exporter.close();
    },
  };
}
