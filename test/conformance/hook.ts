import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serverPair, testAuthority } from '@drydock/kube-client/testing';

/** What a webhook is asked. */
export type Review = {
  readonly request: {
    readonly uid: string;
    readonly name: string;
    readonly [key: string]: unknown;
  };
};

/** The `response` without its uid, or a status and a text that are no answer at all. */
export type Hooked =
  | { readonly response: Readonly<Record<string, unknown>> }
  | { readonly status: number; readonly text: string };

/** Webhooks of cases, all behind one HTTPS server with the control plane's certificate. */
export class Hooks {
  readonly #server: Server;
  readonly #asked = new Map<string, (review: Review) => Hooked>();
  readonly #ca: string;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.#ca = ca;
    server.on('request', (incoming, outgoing) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.once('end', () => {
        const answer = this.#asked.get(new URL(incoming.url ?? '/', 'https://127.0.0.1').pathname);
        const review = JSON.parse(text) as Review;
        const hooked = answer?.(review) ?? { status: 404, text: 'nobody is here' };
        const response = { uid: review.request.uid, ...('response' in hooked && hooked.response) };
        const whole = JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response,
        });
        if ('status' in hooked) outgoing.writeHead(hooked.status).end(hooked.text);
        else outgoing.writeHead(200, { 'content-type': 'application/json' }).end(whole);
      });
    });
  }

  /**
   * With the certificate that lies in the folder of a control plane; with one of its own where
   * there is none, as for the embedded cluster.
   */
  static async start(folder: string): Promise<Hooks> {
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    const isThere = existsSync(join(folder, 'server.crt'));
    const server = createServer(
      isThere ? { cert: read('server.crt'), key: read('server.key') } : serverPair,
    );
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return new Hooks(server, isThere ? read('ca.crt') : testAuthority);
  }

  /** The clientConfig of a webhook that answers so. */
  at(path: string, answer: (review: Review) => Hooked): object {
    this.#asked.set(path, answer);
    const { port } = this.#server.address() as AddressInfo;
    return {
      url: `https://127.0.0.1:${port}${path}`,
      caBundle: Buffer.from(this.#ca).toString('base64'),
    };
  }

  stop(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
