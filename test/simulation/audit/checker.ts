import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import type { Stored } from '@drydock/kube-sim';
import type { Store, StoreChange } from '@drydock/kube-sim/store';
import type { Story } from '../story/story.ts';
import type { Records } from './records.ts';

/** What must hold, by name; docs/simulation.md says what each means. */
export type Invariant =
  | 'budgets'
  | 'policy'
  | 'held first'
  | 'foreign marks'
  | 'restored'
  | 'kept'
  | 'windows'
  | 'status'
  | 'finishes'
  | 'fence'
  | 'no call loops'
  | 'no defects'
  | 'VMs'
  | 'machines'
  | 'responders'
  | 'plans';

/** Where in the API a call goes. */
export type Target = {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly sub: string;
};

/** A call that the server is about to do, or has done. */
export type Served = {
  /**
   * Whose call it is: several processes can be alive at once, when one has lost its lease and
   * lingers.
   */
  readonly process: number;
  readonly call: ApiCall;
  readonly target: Target;
  /** The object that it is about, as it stood before. */
  readonly before: Stored | undefined;
};

/** What every check can ask. */
export type Around = {
  readonly story: Story;
  readonly store: Store;
  readonly records: Records;
  readonly nowMs: () => number;
  /** How old what the operator knows may be at this moment. */
  readonly staleMs: () => number;
  readonly fail: (invariant: Invariant, message: string) => void;
};

/** One part of the audit: told of everything, in the order in which it happens. */
export type Checker = {
  readonly before?: (served: Served) => void;
  readonly after?: (served: Served, answer: ApiResponse) => void;
  readonly changed?: (change: StoreChange) => void;
};

/** Reads a path. */
export function targetOf(path: string): Target {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const isWithin = rest[0] === 'namespaces' && rest.length > 2;
  const [resource = '', name = '', ...sub] = isWithin ? rest.slice(2) : rest;
  return {
    resource: group === '' ? resource : `${resource}.${group}`,
    namespace: isWithin ? (rest[1] ?? '') : '',
    name,
    sub: sub.join('/'),
  };
}

/** How far the operator's clock may be from the server's, in milliseconds. */
export function clockErrorMs({ clockSteps }: Story): number {
  return clockSteps.reduce((sum, { byMs }) => sum + Math.abs(byMs), 0);
}

export function isDone({ status }: ApiResponse): boolean {
  return status >= 200 && status < 300;
}
