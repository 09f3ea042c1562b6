import { request } from 'node:https';
import type { JsonObject } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import { at, text } from '../object.ts';
import type { CallWebhook } from './review.ts';

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
