import { request } from 'node:https';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import type { User } from '../access/authorize.ts';
import { badRequest, denial, type Failure, internalError } from '../failure.ts';
import { at, text } from '../object.ts';
import type { AdmissionAttributes } from '../registry/metadata.ts';
import { asSent, requestOf } from './policies.ts';

/** Upstream: apiserver/pkg/admission/plugin/webhook/{request,validating,errors}. */

/** Client for webhooks: returns the parsed response, or throws with the reason. */
export type CallWebhook = (
  client: JsonObject,
  review: JsonObject,
  timeoutMs: number,
) => Promise<unknown>;

export type WebhookResult = { readonly failure?: Failure; readonly warnings: readonly string[] };

const admitted: WebhookResult = { warnings: [] };

const optionsKind: Readonly<Record<AdmissionAttributes['operation'], string>> = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
};

/** Returns the AdmissionReview. */
function reviewOf(attempt: AdmissionAttributes, user: User, uid: string): JsonObject {
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      ...requestOf(attempt, user),
      object: asSent(attempt, attempt.object),
      oldObject: asSent(attempt, attempt.before),
      options: { kind: optionsKind[attempt.operation], apiVersion: 'meta.k8s.io/v1' },
    },
  };
}

/** Returns a denial in the webhook's words, and never with an invalid code: ToStatusErr. */
function denied(name: string, response: JsonObject): Failure {
  const result = isObject(response['status']) ? response['status'] : {};
  const by = `admission webhook ${JSON.stringify(name)} denied the request`;
  const [message, reason] = [text(result, 'message'), text(result, 'reason')];
  const code = typeof result['code'] === 'number' && result['code'] >= 400 ? result['code'] : 400;
  const why = message === '' ? reason : message;
  const { details } = result;
  return {
    ...denial(code, reason, why === '' ? `${by} without explanation` : `${by}: ${why}`),
    ...(isObject(details) && { details }),
  };
}

function warningsIn(response: JsonObject): readonly string[] {
  return Array.isArray(response['warnings'])
    ? response['warnings'].filter(one => typeof one === 'string')
    : [];
}

/** Reads a response; throws when it is invalid (VerifyAdmissionResponse). */
function readAnswer(name: string, answer: unknown, uid: string): WebhookResult {
  const bad = (why: string): Error => new Error(`received invalid webhook response: ${why}`);
  const response =
    isObject(answer) && isObject(answer['response']) ? answer['response'] : undefined;
  if (response === undefined) throw bad('webhook response was absent');
  if (response['uid'] !== uid)
    throw bad(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'])}`,
    );
  const warnings = warningsIn(response);
  return response['allowed'] === true
    ? { warnings }
    : { failure: denied(name, response), warnings };
}

/** Returns the result for a webhook that does not respond: its failure policy decides. */
export function unanswered(webhook: JsonObject, why: string): WebhookResult {
  if (text(webhook, 'failurePolicy') === 'Ignore') return admitted;
  return {
    failure: internalError(
      `failed calling webhook ${JSON.stringify(text(webhook, 'name'))}: ${why}`,
    ),
    warnings: [],
  };
}

const defaultSeconds = 10;

/** Calls one webhook. */
export async function ask(
  webhook: JsonObject,
  attempt: AdmissionAttributes,
  user: User,
  uid: string,
  call: CallWebhook,
): Promise<WebhookResult> {
  const name = text(webhook, 'name');
  if (attempt.dryRun && !['None', 'NoneOnDryRun'].includes(text(webhook, 'sideEffects')))
    return {
      failure: badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`),
      warnings: [],
    };
  const seconds =
    typeof webhook['timeoutSeconds'] === 'number' ? webhook['timeoutSeconds'] : defaultSeconds;
  const client = isObject(webhook['clientConfig']) ? webhook['clientConfig'] : {};
  const review = reviewOf(attempt, user, uid);
  try {
    const answer = await call(client, review, seconds * 1000).catch((error: unknown) => {
      throw new Error(`failed to call webhook: ${errorText(error)}`);
    });
    return readAnswer(name, answer, uid);
  } catch (error) {
    return unanswered(webhook, errorText(error));
  }
}

/**
 * Returns the webhook's URL. A Service cannot be reached: nothing in this cluster has an address.
 */
function urlOf(client: JsonObject): string {
  const url = text(client, 'url');
  if (url !== '') return url;
  throw new Error(`service ${JSON.stringify(text(client, 'service', 'name'))} not found`);
}

/**
 * Calls a webhook's URL over HTTPS, with its caBundle as trust. Rejects when no JSON with a 2xx
 * status arrives in time.
 */
export const callOverHttps: CallWebhook = (client, review, timeoutMs) =>
  new Promise((resolve, reject) => {
    const url = urlOf(client);
    const bundle = at(client, 'caBundle');
    const payload = JSON.stringify(review);
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'content-length': Buffer.byteLength(payload),
    };
    const ca =
      typeof bundle === 'string' && bundle !== ''
        ? { ca: Buffer.from(bundle, 'base64').toString() }
        : {};
    const fail = (why: string): void =>
      reject(new Error(`Post ${JSON.stringify(`${url}?timeout=${timeoutMs / 1000}s`)}: ${why}`));
    const asked = request(url, { method: 'POST', headers, timeout: timeoutMs, ...ca }, answer => {
      let body = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      answer.once('error', error => fail(error.message));
      answer.once('end', () => {
        const { statusCode = 0 } = answer;
        if (statusCode < 200 || statusCode > 299)
          return reject(
            new Error(
              `an error on the server (${JSON.stringify(body.trim())}) has prevented the request from succeeding`,
            ),
          );
        try {
          resolve(JSON.parse(body));
        } catch (error) {
          fail(errorText(error));
        }
      });
    });
    asked.once('timeout', () => asked.destroy(new Error('context deadline exceeded')));
    asked.once('error', error => fail(error.message));
    asked.end(payload);
  });
