import type { Move } from './model/pod-moves.ts';

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
