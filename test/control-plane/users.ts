import { componentNames } from './programs.ts';

/**
 * A user whom the API server knows by another name than the tests do, and whose kubeconfig is for
 * another namespace than `default`.
 */
export type Identity = {
  readonly name: string;
  readonly groups: readonly string[];
  readonly namespace: string;
};

/**
 * By the name that tests use: each with its groups; one without groups may do nothing until a role
 * says otherwise.
 */
export type Users = Readonly<Record<string, readonly string[] | Identity>>;

const masters = ['system:masters'];
function isIdentity(given: readonly string[] | Identity): given is Identity {
  return 'groups' in given;
}
/** By the name that tests use. */
export function users(more: Users = {}): ReadonlyMap<string, Identity> {
  const everyone = {
    ...Object.fromEntries(
      ['admin', 'drydock', 'floor', 'kubectl', 'observer', ...componentNames].map(name => [
        name,
        masters,
      ]),
    ),
    ...more,
  };
  const identityOf = (name: string, given: readonly string[] | Identity): Identity =>
    isIdentity(given) ? given : { name, groups: given, namespace: 'default' };
  return new Map(Object.entries(everyone).map(([name, given]) => [name, identityOf(name, given)]));
}

/** By the name that the API server knows, the one that tests use. */
export function shortNames(more: Users = {}): ReadonlyMap<string, string> {
  return new Map([...users(more)].map(([user, { name }]) => [name, user]));
}

export function tokenOf(user: string): string {
  return `${user}-token`;
}
