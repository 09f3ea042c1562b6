import { stepOf } from './model/fleet.ts';

/** Keyboard navigation in the fleet: Tab reaches one cell, and arrow keys the others. */

/** Returns the cell of an event's target. */
export function cellIn(target: EventTarget | null): HTMLElement | undefined {
  const cell = target instanceof Element ? target.closest('button.cell') : null;
  return cell instanceof HTMLElement ? cell : undefined;
}

/** Returns the number of cells in a row of the current layout. */
function columnsOf(cells: readonly HTMLElement[]): number {
  const top = cells[0]?.offsetTop;
  const second = cells.findIndex(({ offsetTop }) => offsetTop !== top);
  return second < 0 ? cells.length : second;
}

/** Makes this cell the one that Tab reaches, and focuses it. */
export function moveFocus(box: HTMLElement, to: HTMLElement): void {
  for (const cell of box.querySelectorAll<HTMLElement>('button.cell[tabindex="0"]'))
    cell.tabIndex = -1;
  to.tabIndex = 0;
}

function cellsIn(box: Element): readonly HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>('button.cell')];
}

/** Returns the cell that a key leads to: in the group, or over its edge in the next group. */
function nextOf(box: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const group = from.closest('.cells') ?? box;
  const cells = cellsIn(group);
  const index = cells.indexOf(from);
  const step = stepOf(
    key,
    index,
    cells.length,
    key === 'ArrowUp' || key === 'ArrowDown' ? columnsOf(cells) : 1,
  );
  if (step !== undefined) return cells[step];
  const groups = [...box.querySelectorAll('.cells')];
  const isForward = key === 'ArrowRight' || key === 'ArrowDown';
  const beside = groups[groups.indexOf(group) + (isForward ? 1 : -1)];
  return beside === undefined ? undefined : cellsIn(beside).at(isForward ? 0 : -1);
}

const arrows: ReadonlySet<string> = new Set([
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
]);

/** Moves from cell to cell with the arrow keys. */
export function walk(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const from = cellIn(event.target);
  if (from === undefined || !arrows.has(event.key)) return;
  event.preventDefault();
  nextOf(event.currentTarget, from, event.key)?.focus();
}

/** Ensures that Tab reaches one of the cells, whichever were added or removed. */
export function keepOneReachable(box: HTMLElement): void {
  if (box.querySelector('button.cell[tabindex="0"]') !== null) return;
  const first = box.querySelector<HTMLElement>('button.cell');
  if (first !== null) first.tabIndex = 0;
}
