import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { bareHost } from '@drydock/utils';
import type { ApiResponse } from '../api.ts';

/**
 * The module node:http without an import: importing its names makes Node load undici for names that
 * Drydock does not use, which takes 10 ms of every start of a command.
 */
export const http = process.getBuiltinModule('node:http');

/** Headers as node:http takes them; a list is sent as several lines with the same name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One request, ready to send. */
export type WireInfo = {
  readonly server: URL;
  readonly agent: HttpAgent;
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly body: string | undefined;
};

/** Head of a response, and the stream of its body. */
export type IncomingResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
};

/** Outcome of a request. */
export type Sent =
  | { readonly kind: 'answered'; readonly response: IncomingResponse }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      /** Whether the connection was up, TLS included. */
      readonly established: boolean;
      /** Whether bytes of this request may have reached the server. */
      readonly sent: boolean;
      /**
       * Whether the connection had served other requests before: the server may have closed it
       * under this one.
       */
      readonly reused: boolean;
    };

/**
 * Sends one request and waits for the head of the response. Never rejects. Aborting the signal
 * closes the connection, at any time until the body has been read to its end.
 */
export function send(wire: WireInfo, signal: AbortSignal): Promise<Sent> {
  return new Promise(resolve => {
    const trace = new SocketTrace();
    const fail = (error: unknown): void => resolve({ kind: 'failed', error, ...trace.verdict() });
    if (signal.aborted) return fail(signal.reason);
    try {
      const request = open(wire);
      const abort = (): void =>
        void request.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      signal.addEventListener('abort', abort);
      request.once('close', () => signal.removeEventListener('abort', abort));
      request.once('socket', socket => trace.follow(socket, request.reusedSocket));
      request.once('response', body => {
        const { statusCode: status = 0, headers } = body;
        resolve({ kind: 'answered', response: { status, headers, body } });
      });
      // Stays attached: an error after the response's head shows in the body, and must not become
      // unhandled here.
      request.on('error', fail);
      request.end(wire.body);
    } catch (error) {
      // A header cannot be sent, or OpenSSL refuses the TLS material.
      fail(error);
    }
  });
}

function open(wire: WireInfo) {
  const { port, protocol } = wire.server;
  const options = {
    protocol,
    hostname: bareHost(wire.server.hostname),
    port: port === '' ? undefined : Number(port),
    method: wire.method,
    path: wire.path,
    headers: wire.headers as Record<string, string | string[]>,
    agent: wire.agent,
  };
  return protocol === 'https:' ? httpsRequest(options) : http.request(options);
}

/**
 * Idle time in milliseconds before the kernel sends TCP keepalive probes (libuv then sends ten, a
 * second apart).
 */
export const keepAliveProbeMs = 30_000;

/** Tracks how much of a request has been handed to the network. */
class SocketTrace {
  #socket: Socket | undefined;
  #established = false;
  #reused = false;
  #writtenBefore = 0;

  /** Starts tracking when the request has its socket and before anything is written. */
  follow(socket: Socket, reused: boolean): void {
    this.#socket = socket;
    this.#reused = reused;
    if (reused) {
      this.#established = true;
      this.#writtenBefore = socket.bytesWritten;
      return;
    }
    socket.setKeepAlive(true, keepAliveProbeMs);
    const establish = (): void => {
      this.#established = true;
    };
    if (isOpening(socket))
      socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', establish);
    else establish();
  }

  verdict(): { readonly established: boolean; readonly sent: boolean; readonly reused: boolean } {
    // bytesWritten includes buffered bytes, hence the check that the connection was up.
    const sent =
      this.#established &&
      this.#socket !== undefined &&
      this.#socket.bytesWritten > this.#writtenBefore;
    return { established: this.#established, sent, reused: this.#reused };
  }
}

const isOpening = (socket: Socket): boolean =>
  // secureConnecting is a documented property since Node 20, missing from the types of some
  // versions.
  socket.connecting ||
  (socket instanceof TLSSocket &&
    (socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting === true);

/**
 * Returns the whole body as text. Rejects when the connection breaks before its end. Keeps no
 * reference to the chunks, because callers may keep the text for long.
 */
export function readText(response: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const broken = (): void => reject(new Error('the connection was closed within the answer'));
    if (response.destroyed) return broken();
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('end', () => resolve(Buffer.concat(chunks.splice(0)).toString('utf8')));
    response.once('error', reject);
    response.once('close', broken);
  });
}

/**
 * Collections that Drydock itself uses, by group: each is a value of a metric label. Authors of
 * plans may name any other collection in a gate.
 */
const known: Readonly<Record<string, string>> = {
  '': 'bindings configmaps events namespaces nodes persistentvolumeclaims persistentvolumes pods secrets serviceaccounts services',
  'admissionregistration.k8s.io':
    'validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations',
  'apiextensions.k8s.io': 'customresourcedefinitions',
  apps: 'daemonsets deployments replicasets statefulsets',
  'authentication.k8s.io': 'tokenreviews',
  'authorization.k8s.io': 'selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews',
  batch: 'cronjobs jobs',
  'cluster.x-k8s.io': 'clusters machinedeployments machinepools machines machinesets',
  'config.openshift.io': 'infrastructures',
  'controlplane.cluster.x-k8s.io': 'kubeadmcontrolplanes',
  'coordination.k8s.io': 'leases',
  'drydock.dev':
    'machineeventsources maintenanceapprovals maintenanceplanrecords maintenanceplans maintenances maintenancewindows nodenotices',
  'kubevirt.io':
    'kubevirts nodemaintenances virtualmachineinstancemigrations virtualmachineinstances virtualmachines',
  'lifecycle.k8s.io': 'evictionrequests evictions',
  'machine.openshift.io': 'controlplanemachinesets machines machinesets',
  'machinemaintenance.managed.openshift.io': 'machinemaintenances',
  'nodemaintenance.kubevirt.io': 'nodemaintenances',
  'nodemaintenance.medik8s.io': 'nodemaintenances',
  policy: 'poddisruptionbudgets',
  'scheduling.k8s.io': 'priorityclasses',
  'storage.k8s.io': 'storageclasses volumeattachments',
  'subresources.kubevirt.io': 'virtualmachineinstances',
};
const collections: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(known).map(([group, names]) => [group, new Set(names.split(' '))]),
);

const subresources: ReadonlySet<string> = new Set([
  'status',
  'finalize',
  'eviction',
  'log',
  'proxy',
  'scale',
  'binding',
  'token',
  'evacuate',
  'cancel',
  'metrics',
]);

/** Paths that are not objects. */
const others: ReadonlySet<string> = new Set([
  '/',
  '/version',
  '/readyz',
  '/livez',
  '/healthz',
  '/api',
  '/apis',
  '/openapi/v2',
  '/openapi/v3',
]);

const versions: ReadonlySet<string> = new Set(
  'v1 v2 v1alpha1 v1alpha2 v1alpha3 v1beta1 v1beta2 v1beta3 v2beta1 v2beta2'.split(' '),
);

function versionOf(text: string | undefined): string {
  return text !== undefined && versions.has(text) ? text : '{version}';
}

/**
 * Returns the path of a call without the names in it, for metrics:
 * `/api/v1/namespaces/{namespace}/pods/{name}/eviction`. The number of results is bounded, whatever
 * the requests. Kubernetes paths are regular: `/api/<version>` or `/apis/<group>/<version>`, then
 * `namespaces/<namespace>` where there is one, then the collection, the object's name, the
 * subresource.
 */
export function pathTemplate(path: string): string {
  const parts = path.split('/');
  const isCore = parts[1] === 'api';
  if ((!isCore && parts[1] !== 'apis') || parts.length < 3)
    return others.has(path) ? path : '{other}';
  const group = isCore ? '' : (parts[2] ?? '');
  const own = collections.get(group);
  const rest = parts.slice(isCore ? 3 : 4);
  const inNamespace =
    rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const [collection, name, ...subresource] = inNamespace ? rest.slice(2) : rest;
  const version = versionOf(parts[isCore ? 2 : 3]);
  const template = isCore
    ? ['', 'api', own === undefined ? '{version}' : version]
    : ['', 'apis', own === undefined ? '{group}' : group];
  if (!isCore && parts.length > 3) template.push(own === undefined ? '{version}' : version);
  if (inNamespace) template.push('namespaces', '{namespace}');
  if (collection !== undefined)
    template.push(own?.has(collection) === true ? collection : '{resource}');
  if (name !== undefined) template.push('{name}');
  // Behind a proxy subresource, the rest of the path belongs to another server.
  for (const part of subresource.slice(0, 2))
    template.push(subresources.has(part) ? part : '{subresource}');
  return template.join('/');
}

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

/** Upper limit of a Retry-After in milliseconds: a longer one comes from a wrong clock or unit. */
const maxMs = 60_000;

/**
 * Returns how long the whole client should hold back, in milliseconds; undefined when the response
 * requests no such pause.
 *
 * - 429 with Retry-After in plain text: priority & fairness, or max-in-flight.
 * - 503 with Retry-After in plain text: a proxy or load balancer before the server.
 *
 * The client does not wait for a server that shuts down: that server closes the connection with its
 * 429, and the next connection goes to another server, if there is one. A Status concerns only the
 * requested object, so other calls do not wait: a PodDisruptionBudget, one kind whose storage is
 * not ready (for up to 30 s, and again each time), a resource version that is too new, a path that
 * a just started server does not serve yet (503, for 5 s, while it already serves nodes and calls
 * webhooks). The same holds for an admission webhook's denial. Rule: k8s.io/apiserver
 * pkg/server/filters/maxinflight.go, priority-and-fairness.go and with_retry_after.go against
 * pkg/storage/cacher/cacher.go, pkg/util/notfoundhandler/not_found_handler.go and k8s.io/kubernetes
 * pkg/registry/core/pod/storage/eviction.go.
 */
export function pauseAsked(response: ApiResponse, now: Temporal.Instant): number | undefined {
  const { status, body, headers } = response;
  const goesDown = status === 429 && headers['connection'] === 'close';
  return (status === 429 || status === 503) && !goesDown && isAboutAll(body)
    ? retryAfterMs(headers['retry-after'], now)
    : undefined;
}

function isAboutAll(body: unknown): boolean {
  return typeof body === 'string' && !body.startsWith('admission webhook');
}

/**
 * Returns the header `Retry-After` (RFC 9110, seconds or a date) in milliseconds, at most 60,000;
 * undefined when it is absent or invalid.
 */
export function retryAfterMs(
  header: string | undefined,
  now: Temporal.Instant,
): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const wait = /^\d+$/.test(header.trim())
    ? Number(header) * 1000
    : Date.parse(header) - now.epochMilliseconds;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), maxMs);
}
