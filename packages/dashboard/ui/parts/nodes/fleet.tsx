import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { cellIn, keepOneReachable, moveFocus, walk } from '../../fleet-keys.ts';
import { look, shown, view } from '../../fleet-view.ts';
import { fleetStateOf, fleetWords, type Grouping, groupings } from '../../model/fleet.ts';
import { plural, tallyText } from '../../model/words.ts';
import { open, selected, store } from '../../page.ts';
import { FleetGroup } from './fleet-group.tsx';

/** Node under the pointer or the focus. */
const pointed = signal<string | undefined>(undefined);

function point(target: EventTarget | null): void {
  pointed.value = cellIn(target)?.dataset['node'] ?? pointed.value;
}

function choose(target: EventTarget | null): void {
  const name = cellIn(target)?.dataset['node'];
  if (name !== undefined) open(name);
}

/** Description of the cell under the pointer; screen readers read the cell's name. */
function Told() {
  const node = pointed.value === undefined ? undefined : store.node(pointed.value).value;
  if (node === undefined)
    return (
      <p class="fleet-told quiet">
        Point at a node, or go to it with the arrow keys; Enter opens it.
      </p>
    );
  const places = [node.zone, node.pool, node.plan].filter(
    place => place !== undefined && place !== '',
  );
  const pods = store.pods.on(node.key).value.length;
  const counts = store.pods.countsOn(node.key).value;
  return (
    <p class="fleet-told">
      <strong>{node.key}</strong> {fleetWords[fleetStateOf(node, false)]}
      <span class="quiet">
        {' '}
        {[...places, counts === undefined ? plural(pods, 'pod') : tallyText(counts, 0)].join(' · ')}
      </span>
    </p>
  );
}

function By() {
  return (
    <label class="choice">
      <span>Group by</span>
      <select
        value={view.value.grouping}
        onChange={({ currentTarget }) =>
          look({ ...view.value, grouping: currentTarget.value as Grouping })
        }
      >
        {groupings.map(grouping => (
          <option key={grouping} value={grouping}>
            {grouping}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Marks the cell of the open node, without drawing all cells again. */
function mark(box: HTMLElement, name: string | undefined): void {
  for (const cell of box.querySelectorAll('.cell[aria-current]'))
    cell.removeAttribute('aria-current');
  const cell = name === undefined ? null : document.getElementById(`node-${name}`);
  if (cell?.matches('.cell') === true) cell.setAttribute('aria-current', 'true');
}

/** The groups, in which the arrow keys lead from cell to cell. */
function Groups() {
  const box = useRef<HTMLDivElement>(null);
  const groups = shown.value;
  const chosen = selected.value;
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    keepOneReachable(current);
    mark(current, chosen);
  }, [groups, chosen]);
  return (
    <div
      ref={box}
      class="fleet-groups"
      onClick={({ target }) => choose(target)}
      onKeyDown={walk}
      onPointerOver={({ target }) => point(target)}
      onFocusIn={({ target, currentTarget }) => {
        const cell = cellIn(target);
        if (cell !== undefined) moveFocus(currentTarget, cell);
        point(target);
      }}
    >
      {groups.map(group => (
        <FleetGroup key={group.name} group={group} />
      ))}
      {groups.length === 0 && <p class="quiet">No matching node.</p>}
    </div>
  );
}

/** Every node of the cluster, one cell each. */
export function Fleet() {
  const { zoom, grouping } = view.value;
  return (
    <div class="fleet">
      <div class="fleet-bar">
        {zoom !== undefined && (
          <button type="button" class="button" onClick={() => look(view.value)}>
            All {grouping}s
          </button>
        )}
        <By />
        <Told />
      </div>
      <Groups />
    </div>
  );
}
