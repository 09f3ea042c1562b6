import { signal } from '@preact/signals';
import type {
  ApprovalOrder,
  DrainPreview,
  HostOrder,
  MaintainOrder,
  NodePods,
  PlanApprovalOrder,
  PlanOrder,
  PodView,
  ReleaseOrder,
} from '../src/scene.ts';
import { isView } from './model/fleet.ts';
import type { Move } from './model/pods.ts';

/**
 * Token of the printed link: passed in the fragment, which browsers do not send, and removed from
 * the address bar.
 */

const place = 'drydock-token';

/** Token; empty when the dashboard was opened without one. */
export const token = signal(sessionStorage.getItem(place) ?? '');

/** Stores a token from the fragment; a fragment with a name in it is a view. */
function take(): void {
  const given = location.hash.slice(1);
  if (given === '' || isView(given)) return;
  sessionStorage.setItem(place, given);
  history.replaceState(undefined, '', location.pathname);
  token.value = given;
}

/** Takes the token of this address, and of every link that is opened in this page. */
export function takeToken(): void {
  take();
  window.addEventListener('hashchange', take);
}

/** Returns the headers with the credentials. */
export function credentials(): Readonly<Record<string, string>> {
  return token.value === '' ? {} : { authorization: `Bearer ${token.value}` };
}

/** Result of an order, with a message for users. */
export type OrderResult = { readonly done: boolean; readonly message: string };

function messageIn(body: unknown): string {
  const message = (body as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : 'the server gave no reason';
}

function unreachable(error: unknown): string {
  return `failed to reach the dashboard's server: ${error instanceof Error ? error.message : String(error)}`;
}

type Order =
  | MaintainOrder
  | ReleaseOrder
  | ApprovalOrder
  | PlanOrder
  | PlanApprovalOrder
  | HostOrder;

async function send(path: string, order: Order): Promise<OrderResult> {
  try {
    const headers = { ...credentials(), 'content-type': 'application/json' };
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(order) });
    return { done: response.ok, message: messageIn(await response.json()) };
  } catch (error) {
    return { done: false, message: unreachable(error) };
  }
}

export function maintain(order: MaintainOrder): Promise<OrderResult> {
  return send('/api/maintain', order);
}

export function release({ store, namespace, name }: ReleaseOrder): Promise<OrderResult> {
  return send('/api/release', { store, name, ...(namespace !== undefined && { namespace }) });
}

export function approve({ key }: ApprovalOrder): Promise<OrderResult> {
  return send('/api/approve', { key });
}

export function steerPlan(order: PlanOrder): Promise<OrderResult> {
  return send('/api/steer-plan', order);
}

export function approvePlan(order: PlanApprovalOrder): Promise<OrderResult> {
  return send('/api/approve-plan', order);
}

/** Has a simulated cloud announce an event. */
export function announce(order: HostOrder): Promise<OrderResult> {
  return send('/api/announce', order);
}

/** Returns the preview of a drain, or a string with the error. */
export async function outlook({
  node,
  force,
  deleteEmptyDirData,
}: Omit<MaintainOrder, 'reason'>): Promise<DrainPreview | string> {
  const query = new URLSearchParams({
    node,
    force: String(force),
    deleteEmptyDirData: String(deleteEmptyDirData),
  });
  try {
    const response = await fetch(`/api/outlook?${query}`, { headers: credentials() });
    const body: unknown = await response.json();
    return response.ok ? (body as DrainPreview) : messageIn(body);
  } catch (error) {
    return unreachable(error);
  }
}

/**
 * Returns the pods of a node; undefined when the server cannot be reached, and the request is to be
 * retried.
 */
export async function podsOf(node: string): Promise<readonly PodView[] | undefined> {
  try {
    const response = await fetch(`/api/pods?${new URLSearchParams({ node })}`, {
      headers: credentials(),
    });
    return response.ok ? ((await response.json()) as NodePods).pods : undefined;
  } catch {
    // The page already shows the lost connection.
    return undefined;
  }
}

/** Animation of pods from the node that they leave to the one that they come to. */

const flightMs = 900;
const shiftMs = 260;
const easing = 'cubic-bezier(.22,.8,.26,1)';
/** Limit of concurrent animations; more would only distract. */
const maxFlights = 40;

const tiles = new Map<string, HTMLElement>();
/** Last positions of tiles that are gone. */
const lastRects = new Map<string, DOMRect>();
/** UID of the replaced pod, by the UID of its successor. */
const origins = new Map<string, string>();
let flying = 0;

const still = matchMedia('(prefers-reduced-motion: reduce)');

export function expectMove({ pod, fromUid }: Move): void {
  origins.set(pod.uid, fromUid);
  // A pod may come to a node that is not drawn: then its tile never appears.
  setTimeout(() => origins.delete(pod.uid), flightMs);
}

function fly(tile: HTMLElement, from: DOMRect): void {
  const to = tile.getBoundingClientRect();
  flying += 1;
  tile.classList.add('flying');
  const start = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(1.15)`;
  const flight = tile.animate([{ transform: start }, { transform: 'none' }], {
    duration: flightMs,
    easing,
  });
  const landed = (): void => {
    flying -= 1;
    tile.classList.remove('flying');
  };
  flight.addEventListener('finish', landed);
  flight.addEventListener('cancel', landed);
}

/** Registers a tile; returns a function that removes it. */
export function registerTile(uid: string, tile: HTMLElement): () => void {
  const from = origins.get(uid);
  const rect =
    from === undefined
      ? undefined
      : (tiles.get(from)?.getBoundingClientRect() ?? lastRects.get(from));
  tiles.set(uid, tile);
  if (rect !== undefined && flying < maxFlights && !still.matches) fly(tile, rect);
  return () => {
    tiles.delete(uid);
    lastRects.set(uid, tile.getBoundingClientRect());
    setTimeout(() => lastRects.delete(uid), 5 * flightMs);
  };
}

type Spot = { readonly left: number; readonly top: number };

/** Animates the tiles of a box to their new positions; returns these. */
export function animateReflow(
  box: HTMLElement,
  before: ReadonlyMap<string, Spot>,
): ReadonlyMap<string, Spot> {
  const now = new Map<string, Spot>();
  for (const tile of box.children) {
    if (!(tile instanceof HTMLElement)) continue;
    const uid = tile.dataset['uid'] ?? '';
    const spot = { left: tile.offsetLeft, top: tile.offsetTop };
    now.set(uid, spot);
    const old = before.get(uid);
    if (old === undefined || still.matches || (old.left === spot.left && old.top === spot.top))
      continue;
    const start = `translate(${old.left - spot.left}px, ${old.top - spot.top}px)`;
    tile.animate([{ transform: start }, { transform: 'none' }], { duration: shiftMs, easing });
  }
  return now;
}
