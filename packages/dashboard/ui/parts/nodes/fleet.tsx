import { signal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { condensed, open, search, selected, store } from '../../connection.ts';
import {
  asCells,
  cellIn,
  keepOneReachable,
  look,
  moveFocus,
  shown,
  view,
  walk,
  zoomInto,
} from '../../fleet-view.ts';
import {
  type CellGroup,
  countsOf,
  type FleetState,
  fleetStateOf,
  fleetWords,
  type Grouping,
  groupings,
} from '../../model/fleet.ts';
import { type PodState, plural, podWords, tallyText } from '../../model/words.ts';
import { NodeBox, PodTiles } from './node-box.tsx';

/** Limit of nodes up to which a group that fills the view is drawn as boxes. */
const maxBoxes = 150;

/** Number of nodes in each state; also the legend of the marks. */
function States({ counts }: { readonly counts: readonly (readonly [FleetState, number])[] }) {
  return (
    <ul class="fleet-states">
      {counts.map(([state, count]) => (
        <li key={state}>
          <span class={`cell sample ${state}`} aria-hidden="true" /> {count.toLocaleString('en')}{' '}
          {fleetWords[state]}
        </li>
      ))}
    </ul>
  );
}

/** Returns the title of a group. */
function titleOf(name: string, grouping: Grouping): string {
  return name === '' ? `no ${grouping}` : name;
}

/** Keeps the focus on a cell when its place changes. */
function useSteadyFocus(): void {
  const { activeElement } = document;
  const id = activeElement?.matches('.cell') === true ? activeElement.id : undefined;
  useLayoutEffect(() => {
    if (id !== undefined && document.activeElement === document.body)
      document.getElementById(id)?.focus({ preventScroll: true });
  });
}

function Cells({ group, title }: { readonly group: CellGroup; readonly title: string }) {
  useSteadyFocus();
  const cells = useMemo(
    () =>
      group.cells.map(({ key, state }) => (
        <button
          key={key}
          type="button"
          id={`node-${key}`}
          class={`cell ${state}`}
          tabIndex={-1}
          aria-label={`${key}, ${fleetWords[state]}`}
          data-node={key}
        />
      )),
    [group],
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div class="cells" role="group" aria-label={`Nodes of ${title}`}>
      {cells}
    </div>
  );
}

/** A group of nodes, as cells; as boxes where it fills the view and is small. */
function FleetGroup({ group }: { readonly group: CellGroup }) {
  const { grouping, zoom } = view.value;
  const title = titleOf(group.name, grouping);
  const isZoomed = zoom !== undefined;
  const counts = useMemo(() => countsOf(group.cells), [group]);
  return (
    <section
      class={`fleet-group ${isZoomed ? 'zoomed' : ''}`}
      data-group={group.name}
      aria-label={`${grouping} ${title}`}
    >
      <div class="fleet-head">
        <h3>
          {title} <span class="count">{plural(group.cells.length, 'node')}</span>
        </h3>
        <States counts={counts} />
        {!isZoomed && (
          <button type="button" class="link" onClick={() => zoomInto(group.name)}>
            Zoom<span class="hidden"> into {title}</span>
          </button>
        )}
      </div>
      {isZoomed && group.cells.length <= maxBoxes ? (
        <ul class="nodes">
          {group.cells.map(({ key }) => (
            <NodeBox key={key} name={key} />
          ))}
        </ul>
      ) : (
        <Cells group={group} title={title} />
      )}
    </section>
  );
}

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
function PointedNode() {
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
function Fleet() {
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
        <PointedNode />
      </div>
      <Groups />
    </div>
  );
}

const states: readonly PodState[] = ['running', 'starting', 'leaving', 'blocked'];

/** Legend of the shapes. */
function Legend() {
  return (
    <ul class="legend" aria-label="Legend of the pods">
      {states.map(state => (
        <li key={state}>
          <span class={`pod sample ${state} tint-0`}>{state === 'blocked' ? '!' : ''}</span>{' '}
          {podWords[state]}
        </li>
      ))}
      <li>
        <span class="pod sample running stays" /> stays on its node
      </li>
      <li>
        <span class="pod sample running is-vm tint-1" /> a VM
      </li>
    </ul>
  );
}

/** Number of nodes from which the search is shown. */
const manyNodes = 12;

const noPods: ReadonlySet<string> = new Set();

function Search() {
  return (
    <label class="search">
      <span>Find a node</span>
      <input
        type="search"
        value={search.value}
        placeholder="name, zone, pool or state"
        onInput={event => {
          search.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** Unscheduled pods. */
function Waiting() {
  const pods = store.pods.on('').value;
  const count = pods.length + (store.pods.countsOn('').value?.pending ?? 0);
  if (count === 0) return null;
  return (
    <section class="waiting" aria-label="Pods that wait for a node">
      <h3>{plural(count, 'pod is', 'pods are')} waiting for a node</h3>
      {!condensed.value && <PodTiles pods={pods} blocked={noPods} />}
    </section>
  );
}

/** Choice between cells and boxes, where there is room for boxes. */
function ViewChoice() {
  return (
    <label class="choice">
      <span>Show</span>
      <select
        value={view.value.asCells ? 'fleet' : 'boxes'}
        onChange={({ currentTarget }) =>
          look({ ...view.value, asCells: currentTarget.value === 'fleet' })
        }
      >
        <option value="boxes">nodes and pods</option>
        <option value="fleet">the fleet</option>
      </select>
    </label>
  );
}

/** Zones, each with its nodes as boxes. */
function Boxes() {
  return (
    <div class="zone-list">
      {store.zones.value.map(({ zone, nodes }) => (
        <section
          key={zone}
          class="zone"
          aria-label={zone === '' ? 'Nodes without a zone' : `Zone ${zone}`}
        >
          <h3>
            {zone === '' ? 'no zone' : zone}{' '}
            <span class="count">{plural(nodes.length, 'node')}</span>
          </h3>
          <ul class="nodes">
            {nodes.map(name => (
              <NodeBox key={name} name={name} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** The nodes of the cluster, as boxes or as cells. */
export function Zones() {
  return (
    <section class={`zones ${condensed.value ? 'condensed' : ''}`} aria-labelledby="nodes-title">
      <div class="zones-head">
        <h2 id="nodes-title">Nodes</h2>
        {(store.nodeCount() > manyNodes || asCells.value) && <Search />}
        {!condensed.value && <ViewChoice />}
        {!asCells.value && <Legend />}
      </div>
      <Waiting />
      {asCells.value ? <Fleet /> : <Boxes />}
    </section>
  );
}
