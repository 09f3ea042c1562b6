import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject, type JsonObject, pathSegment, statusMessage } from '@drydock/apimachinery';
import type { Api, ApiCall } from '@drydock/kube-client';
import { type Clock, errorText, type KeyPair, type Log, type PanicHandler } from '@drydock/utils';
import {
  type CertificateSet,
  type Due,
  dueOf,
  makeAuthority,
  makeServing,
  namesIn,
  unexpired,
} from './plan.ts';

/** Options of the self-made certificates, which are in one Secret that all replicas share. */

export type SelfMadeOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly namespace: string;
  /** Names under which API servers reach the webhook's server: host names and IP addresses. */
  readonly names: readonly string[];
};

const secretName = 'drydock-webhook-cert';

/** Rounds in which replicas that start together agree: one creates the set, the others read it. */
const rounds = 5;

/** Milliseconds before the second round; twice as long before each further one. */
const pauseMs = 100;

type StoredSecret = {
  readonly metadata: { readonly uid?: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
};

function splitPem(bundle: string): readonly string[] {
  return bundle.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n?/g) ?? [];
}

function setIn({ data = {} }: StoredSecret): CertificateSet {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return {
    authorities: splitPem(text('ca.crt')),
    authorityKey: text('ca.key'),
    serving: { cert: text('tls.crt'), key: text('tls.key') },
  };
}

/** Returns the PEM of all authorities that API servers have to trust. */
export function bundleOf({ authorities }: CertificateSet): string {
  return authorities.join('');
}

function dataOf(set: CertificateSet): JsonObject {
  const data = {
    'ca.crt': bundleOf(set),
    'ca.key': set.authorityKey,
    'tls.crt': set.serving.cert,
    'tls.key': set.serving.key,
  };
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
}

function secretFor(set: CertificateSet, namespace: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: {
      name: secretName,
      namespace,
      labels: { 'app.kubernetes.io/managed-by': 'drydock' },
    },
    data: dataOf(set),
  };
}

type Place = { readonly collection: string; readonly path: string; readonly namespace: string };

/**
 * Returns the call that stores a set: for an existing Secret only the data, based on the version
 * that was read, so that labels, annotations and owners of others stay.
 */
function storing(
  set: CertificateSet,
  stored: StoredSecret | undefined,
  { collection, path, namespace }: Place,
): ApiCall {
  return stored === undefined
    ? { method: 'POST', path: collection, body: secretFor(set, namespace) }
    : {
        method: 'PATCH',
        path,
        contentType: 'application/merge-patch+json',
        body: {
          metadata: { uid: stored.metadata.uid, resourceVersion: stored.metadata.resourceVersion },
          data: dataOf(set),
        },
      };
}

async function made(
  set: CertificateSet | undefined,
  due: Exclude<Due, 'nothing'>,
  names: readonly string[],
  now: Temporal.Instant,
): Promise<CertificateSet> {
  if (due === 'everything' || set === undefined) {
    const authority = await makeAuthority(now);
    return {
      authorities: [authority.cert],
      authorityKey: authority.key,
      serving: await makeServing(authority, names, now),
    };
  }
  const kept = unexpired(set.authorities, now);
  if (due === 'authority') {
    const authority = await makeAuthority(now);
    return { ...set, authorities: [authority.cert, ...kept], authorityKey: authority.key };
  }
  // Another replica may have names of its own: without them the two would renew in turns for ever.
  const all = [...new Set([...names, ...namesIn(set.serving.cert)])];
  const serving = await makeServing(
    { cert: set.authorities[0] ?? '', key: set.authorityKey },
    all,
    now,
  );
  return { ...set, authorities: kept, serving };
}

/**
 * Returns the stored set, after creating what is due. Several replicas may call this at the same
 * time: one of them stores, the others read that. Rejects if the Secret can be neither read nor
 * written, with the API server's message.
 */
export async function selfMade(
  options: SelfMadeOptions,
  signal: AbortSignal,
): Promise<CertificateSet> {
  const { api, clock, log, namespace, names } = options;
  const collection = `/api/v1/namespaces/${pathSegment(namespace)}/secrets`;
  const path = `${collection}/${secretName}`;
  for (let round = 0; round < rounds; round += 1) {
    if (round > 0) await clock.sleep(pauseMs * 2 ** (round - 1), signal);
    signal.throwIfAborted();
    const found = await api.call({ method: 'GET', path }, signal);
    if (found.status !== 200 && found.status !== 404)
      throw new Error(`cannot read Secret ${namespace}/${secretName}: ${statusMessage(found)}`);
    const stored =
      found.status === 200 && isObject(found.body)
        ? (found.body as unknown as StoredSecret)
        : undefined;
    const set = stored && setIn(stored);
    const due = dueOf(set, names, clock.now());
    if (set !== undefined && due === 'nothing') return set;
    const next = await made(set, due === 'nothing' ? 'everything' : due, names, clock.now());
    const response = await api.call(storing(next, stored, { collection, path, namespace }), signal);
    if (response.status === 200 || response.status === 201) {
      log.info(`${stored === undefined ? 'created' : 'renewed'} webhook certificate`, {
        secret: `${namespace}/${secretName}`,
        made: due,
      });
      return next;
    }
    // Immutable, or of a type that demands other keys: the Secret is not the operator's.
    const remedy =
      response.status === 422 && stored !== undefined
        ? `. Delete it, and it is made anew: kubectl -n ${namespace} delete secret ${secretName}`
        : '';
    if (response.status !== 409)
      throw new Error(
        `cannot write Secret ${namespace}/${secretName}: ${statusMessage(response)}${remedy}`,
      );
  }
  throw new Error(`Secret ${namespace}/${secretName} keeps being changed by another writer`);
}

/** Options of a follower that keeps the certificate for as long as the webhook is served. */

export type FollowOptions = {
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Function that reads the pair that is mounted into the container. */
  readonly mounted: () => Promise<KeyPair | undefined>;
  /** Function that returns the operator's own set, renewed if necessary. */
  readonly selfMade: (signal: AbortSignal) => Promise<CertificateSet>;
  /** Function that presents the pair to new connections. */
  readonly show: (pair: KeyPair) => void;
  /**
   * Function that makes API servers trust the operator's own authorities. Never called for mounted
   * certificates: their provider takes care of that.
   */
  readonly trust: (pem: string) => void;
};

/**
 * Milliseconds between two reads of mounted files: the kubelet itself takes up to a minute to swap
 * them.
 */
const lookEveryMs = 10_000;
const retryMs = 2000;

type Found = {
  readonly source: 'mounted' | 'self-made';
  readonly pair: KeyPair;
  readonly bundle?: string;
};

/**
 * Finds the certificate. After a mounted certificate it waits for the next one: a certificate of
 * our own would overwrite a caBundle that is not ours.
 */
async function find(
  { mounted, selfMade }: FollowOptions,
  before: Found | undefined,
  signal: AbortSignal,
): Promise<Found> {
  const pair = await mounted();
  if (pair !== undefined) return { source: 'mounted', pair };
  if (before?.source === 'mounted') return before;
  const set = await selfMade(signal);
  return { source: 'self-made', pair: set.serving, bundle: bundleOf(set) };
}

/**
 * Presents the current certificate and each one after it, until the signal is aborted. Never
 * rejects.
 */
export async function followCertificate(
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, defects, show, trust } = options;
  let shown: Found | undefined;
  let problem = '';
  while (!signal.aborted) {
    let pause = lookEveryMs;
    try {
      const found = await find(options, shown, signal);
      // Trust comes first, then the certificate: an API server that learns of both at once must not
      // meet an unknown authority.
      if (found.bundle !== undefined) trust(found.bundle);
      if (found.pair.cert !== shown?.pair.cert || found.pair.key !== shown.pair.key) {
        show(found.pair);
        log.info('loaded webhook certificate', { source: found.source });
      }
      shown = found;
      problem = '';
    } catch (error) {
      if (signal.aborted) return;
      const text = defects.textOf('Webhook', 'certificate', error);
      if (text !== problem)
        log.warn('failed to obtain the webhook certificate; retrying', { error: text });
      problem = text;
      pause = retryMs;
    }
    await clock.sleep(pause, signal);
  }
}

/**
 * Certificates that others mount into the container: cert-manager, OLM, or a Secret mounted by
 * hand.
 */

type Files = { readonly cert: string; readonly key: string };

/**
 * Returns the places of pairs, of which the first complete one is taken: the given folder, OLM's
 * files, controller-runtime's default folder.
 */
export function mountedPlaces(certDir: string | undefined): readonly Files[] {
  const folder = (path: string): Files => ({
    cert: join(path, 'tls.crt'),
    key: join(path, 'tls.key'),
  });
  const olm = '/apiserver.local.config/certificates';
  return [
    ...(certDir === undefined ? [] : [folder(certDir)]),
    { cert: join(olm, 'apiserver.crt'), key: join(olm, 'apiserver.key') },
    folder(join(tmpdir(), 'k8s-webhook-server', 'serving-certs')),
  ];
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      (error.code === 'ENOENT' || error.code === 'ENOTDIR')
    )
      return undefined;
    throw new Error(`cannot read ${path}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Reports whether certificate and key match. Mounted files are swapped together, but read one after
 * the other: a mismatch is read again later.
 */
function isPair({ cert, key }: KeyPair): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

/**
 * Returns the pair of the first place that has both files; undefined if none has. Rejects if the
 * files cannot be read, contain something else, or do not match (yet).
 */
export async function mountedPair(places: readonly Files[]): Promise<KeyPair | undefined> {
  for (const files of places) {
    const [cert, key] = [await textOf(files.cert), await textOf(files.key)];
    if (cert === undefined || key === undefined) continue;
    let fits: boolean;
    try {
      fits = isPair({ cert, key });
    } catch (error) {
      throw new Error(`${files.cert} and ${files.key} are not a certificate and a key in PEM`, {
        cause: error,
      });
    }
    if (!fits) throw new Error(`${files.key} is not the key of ${files.cert}`);
    return { cert, key };
  }
  return undefined;
}
