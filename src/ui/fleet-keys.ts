import { stepOf } from './model/fleet.ts';

/** The cells of the fleet as one thing for the keyboard: Tab reaches one of them, and arrow keys the others. */

/** The cell that something happens on. */
export const cellIn = (target: EventTarget | null): HTMLElement | undefined => {
  const cell = target instanceof Element ? target.closest('button.cell') : null;
  return cell instanceof HTMLElement ? cell : undefined;
};

/** How many cells are in a row, as they are laid out now. */
const columnsOf = (cells: readonly HTMLElement[]): number => {
  const top = cells[0]?.offsetTop;
  const second = cells.findIndex(({ offsetTop }) => offsetTop !== top);
  return second < 0 ? cells.length : second;
};

/** Makes this the cell that Tab reaches; the others are reached from there. */
export const moveFocus = (box: HTMLElement, to: HTMLElement): void => {
  for (const cell of box.querySelectorAll<HTMLElement>('button.cell[tabindex="0"]')) cell.tabIndex = -1;
  to.tabIndex = 0;
};

const cellsIn = (box: Element): readonly HTMLElement[] => [...box.querySelectorAll<HTMLElement>('button.cell')];

/** The cell that a key leads to: in the group, or over its edge in the group beside it. */
const nextOf = (box: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined => {
  const group = from.closest('.cells') ?? box;
  const cells = cellsIn(group);
  const index = cells.indexOf(from);
  const step = stepOf(key, index, cells.length, key === 'ArrowUp' || key === 'ArrowDown' ? columnsOf(cells) : 1);
  if (step !== undefined) return cells[step];
  const groups = [...box.querySelectorAll('.cells')];
  const isForward = key === 'ArrowRight' || key === 'ArrowDown';
  const beside = groups[groups.indexOf(group) + (isForward ? 1 : -1)];
  return beside === undefined ? undefined : cellsIn(beside).at(isForward ? 0 : -1);
};

const arrows: ReadonlySet<string> = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

/** Goes from cell to cell with the arrow keys. */
export const walk = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
  const from = cellIn(event.target);
  if (from === undefined || !arrows.has(event.key)) return;
  event.preventDefault();
  nextOf(event.currentTarget, from, event.key)?.focus();
};

/** Sees to it that Tab reaches one of the cells, whichever have come and gone. */
export const keepOneReachable = (box: HTMLElement): void => {
  if (box.querySelector('button.cell[tabindex="0"]') !== null) return;
  const first = box.querySelector<HTMLElement>('button.cell');
  if (first !== null) first.tabIndex = 0;
};
