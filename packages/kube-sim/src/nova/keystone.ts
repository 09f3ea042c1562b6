import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { NovaReply } from './answer.ts';
import { type OpenStack, simulatedUser } from './open-stack.ts';

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
}

const refusal: NovaReply = {
  status: 401,
  body: {
    error: {
      code: 401,
      message: 'The request you have made requires authentication.',
      title: 'Unauthorized',
    },
  },
};

function isRight(body: Json | undefined): boolean {
  const identity = at(body, 'auth', 'identity');
  if (at(identity, 'application_credential', 'secret') !== undefined) {
    return (
      at(identity, 'application_credential', 'id') === 'credential' &&
      at(identity, 'application_credential', 'secret') === simulatedUser.password
    );
  }
  const user = at(identity, 'password', 'user');
  return at(user, 'name') === simulatedUser.name && at(user, 'password') === simulatedUser.password;
}

function endpoints(base: string): readonly JsonObject[] {
  return ['public', 'internal', 'admin'].map(name => ({
    interface: name,
    region: 'RegionOne',
    region_id: 'RegionOne',
    url: `${base}/compute/v2.1`,
  }));
}

/**
 * A Keystone with one user, one application credential (`credential`, with the user's password as
 * its secret), and its own tokens.
 */
export class Keystone {
  readonly #cloud: OpenStack;
  readonly #tokens = new Map<string, number>();
  #made = 0;

  constructor(cloud: OpenStack) {
    this.#cloud = cloud;
  }

  /** Number of successful logins. */
  get logins(): number {
    return this.#made;
  }

  isGood(token: string | undefined): boolean {
    const until = token === undefined ? undefined : this.#tokens.get(token);
    return until !== undefined && until > this.#cloud.nowMs();
  }

  /** Revokes all tokens. */
  revoke(): void {
    this.#tokens.clear();
  }

  logIn(body: Json | undefined, base: string): NovaReply {
    if (!isRight(body)) return refusal;
    this.#made += 1;
    const now = this.#cloud.nowMs();
    const until = now + this.#cloud.tokenSeconds * 1000;
    const token = `token-${this.#made}`;
    this.#tokens.set(token, until);
    const { id, name } = simulatedUser;
    return {
      status: 201,
      headers: { 'x-subject-token': token },
      body: {
        token: {
          issued_at: new Date(now).toISOString(),
          expires_at: new Date(until).toISOString(),
          user: { id, name, domain: { id: 'default', name: 'Default' } },
          catalog: [{ type: 'compute', name: 'nova', endpoints: [...endpoints(base)] }],
        },
      },
    };
  }
}
