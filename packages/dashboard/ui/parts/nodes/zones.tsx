import { asCells, look, view } from '../../fleet-view.ts';
import { plural } from '../../model/words.ts';
import { condensed, search, store } from '../../page.ts';
import { Fleet } from './fleet.tsx';
import { Legend } from './legend.tsx';
import { NodeBox, PodTiles } from './node-box.tsx';

/** Number of nodes from which the search is shown. */
const manyNodes = 12;

const nobody: ReadonlySet<string> = new Set();

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
      {!condensed.value && <PodTiles pods={pods} blocked={nobody} />}
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
