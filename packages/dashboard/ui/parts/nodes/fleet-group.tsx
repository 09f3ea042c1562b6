import { useLayoutEffect, useMemo } from 'preact/hooks';
import { view, zoomInto } from '../../fleet-view.ts';
import {
  type CellGroup,
  countsOf,
  type FleetState,
  fleetWords,
  type Grouping,
} from '../../model/fleet.ts';
import { plural } from '../../model/words.ts';
import { NodeBox } from './node-box.tsx';

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
export function FleetGroup({ group }: { readonly group: CellGroup }) {
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
