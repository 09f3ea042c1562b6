import { isObject, type JsonObject, pathSegment, statusMessage } from '@drydock/apimachinery';
import type { Api, ApiCall } from '@drydock/kube-client';
import type { Clock, Log } from '@drydock/utils';
import { makeAuthority, makeServing } from './make.ts';
import { type CertificateSet, type Due, dueOf, namesIn, unexpired } from './plan.ts';

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
