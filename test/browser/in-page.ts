import type axeCore from 'axe-core';

/** Put into every page by the tests. */
declare const axe: typeof axeCore;

/** Functions that run in the dashboard. Each stands alone: playwright carries its text over. */

/** Elements that can be used and do not say what they are. */
export function nameless(): readonly string[] {
  const nameOf = (element: Element): string => {
    const labels = (element as HTMLInputElement).labels ?? [];
    return [
      element.getAttribute('aria-label') ?? '',
      ...[...labels].map(label => label.textContent ?? ''),
      element.textContent ?? '',
    ]
      .join('')
      .trim();
  };
  return [...document.querySelectorAll('button, input, a[href], [role=button], progress')]
    .filter(element => nameOf(element) === '')
    .map(element => element.outerHTML);
}

/** Texts whose contrast with what is behind them is below 4.5, as `text: ratio`. */
export function faint(): readonly string[] {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('no canvas');
  type Colour = readonly [number, number, number, number];
  const read = (colour: string): Colour => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0, a = 0] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top: Colour, bottom: Colour): Colour => {
    const mix = (one: number, other: number): number => one * top[3] + other * (1 - top[3]);
    return [mix(top[0], bottom[0]), mix(top[1], bottom[1]), mix(top[2], bottom[2]), 1];
  };
  const behind = (element: Element | null): Colour => {
    if (element === null) return read('Canvas');
    const colour = read(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
  };
  const light = ([r, g, b]: Colour): number => {
    const [x = 0, y = 0, z = 0] = [r, g, b].map(part =>
      part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (element: Element): number => {
    const back = behind(element);
    const lights = [light(over(read(getComputedStyle(element).color), back)), light(back)];
    return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
  };
  const hasText = (element: Element): boolean =>
    [...element.childNodes].some(
      node => node.nodeType === Node.TEXT_NODE && (node.textContent ?? '').trim() !== '',
    );
  // A pod that leaves is about to be no more: it is faint for that.
  return [...document.querySelectorAll('body *')]
    .filter(
      element =>
        hasText(element) && element.checkVisibility() && !element.matches('.pod.leaving, script'),
    )
    .flatMap(element =>
      ratio(element) < 4.5 ? [`${element.textContent}: ${ratio(element).toFixed(2)}`] : [],
    );
}

/**
 * What has the focus: its id or text, and whether that can be seen; between the last and the first
 * it is nowhere.
 */
export function focus(): {
  readonly id: string;
  readonly text: string;
  readonly isSeen: boolean;
  readonly isNowhere: boolean;
} {
  const element = document.activeElement ?? document.body;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return {
    id: element.id,
    text: (element.textContent ?? '').trim(),
    isSeen: outlineStyle !== 'none' && outlineWidth !== '0px',
    isNowhere: element === document.body,
  };
}

/** How far the dashboard can be scrolled sideways, in pixels. */
export function sideways(): number {
  return document.documentElement.scrollWidth - document.documentElement.clientWidth;
}

/** Counts the tiles that fly, from now on, in `data-flights` of the document. */
export function countFlights(): void {
  const root = document.documentElement;
  root.dataset['flights'] = '0';
  new MutationObserver(changes => {
    const flown = changes.filter(
      ({ target }) => target instanceof Element && target.classList.contains('flying'),
    ).length;
    root.dataset['flights'] = String(Number(root.dataset['flights']) + flown);
  }).observe(root, { subtree: true, attributes: true, attributeFilter: ['class'] });
}

/**
 * Everything that a page of another site can try with an address and even with the token; answers
 * what it got hold of.
 */
export async function attack([page, token]: readonly [page: string, token: string]): Promise<
  readonly string[]
> {
  const got: string[] = [];
  const order = JSON.stringify({ node: 'worker-1', reason: 'evil' });
  const attempts: readonly (readonly [what: string, path: string, init: RequestInit])[] = [
    ['read', 'api/scene', {}],
    ['read with the token', 'api/scene', { headers: { authorization: `Bearer ${token}` } }],
    ['read the stream', 'api/stream', { headers: { authorization: `Bearer ${token}` } }],
    [
      'order',
      'api/maintain',
      { method: 'POST', body: order, headers: { 'content-type': 'application/json' } },
    ],
    [
      'order with the token',
      'api/maintain',
      {
        method: 'POST',
        body: order,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      },
    ],
    [
      'order as plain text',
      'api/maintain',
      { method: 'POST', body: order, mode: 'no-cors', credentials: 'include' },
    ],
  ];
  for (const [what, path, init] of attempts) {
    const answer = await fetch(page + path, { ...init, signal: AbortSignal.timeout(5000) }).catch(
      () => undefined,
    );
    if (answer !== undefined && answer.type !== 'opaque') got.push(`${what}: ${answer.status}`);
  }
  const load = (element: HTMLElement, what: string): Promise<void> =>
    new Promise(resolve => {
      element.addEventListener('load', () => {
        got.push(what);
        resolve();
      });
      element.addEventListener('error', () => resolve());
      AbortSignal.timeout(5000).addEventListener('abort', () => resolve());
      document.body.append(element);
    });
  await load(Object.assign(document.createElement('script'), { src: `${page}page.js` }), 'script');
  await load(Object.assign(document.createElement('img'), { src: `${page}icon.svg` }), 'image');
  return got;
}

/** What axe has to say against the dashboard, with the first element of each. */
export async function violations(): Promise<readonly string[]> {
  const { violations } = await axe.run();
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.length} times, first ${nodes[0]?.html ?? ''}`,
  );
}
