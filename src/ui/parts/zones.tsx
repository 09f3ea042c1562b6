import { plural } from '../model/words.ts';
import { condensed, search, store } from '../page.ts';
import { Legend } from './legend.tsx';
import { NodeBox, PodTiles } from './node-box.tsx';

/** With fewer nodes there is nothing to be searched. */
const manyNodes = 12;

const nobody: ReadonlySet<string> = new Set();

const Search = () => (
  <label class="search">
    <span>Find a node</span>
    <input
      type="search"
      value={search.value}
      placeholder="name, zone or state"
      onInput={event => {
        search.value = event.currentTarget.value;
      }}
    />
  </label>
);

/** Pods that no node has taken yet. */
const Waiting = () => {
  const pods = store.pods.on('').value;
  const count = pods.length + (store.pods.countsOn('').value?.pending ?? 0);
  if (count === 0) return null;
  return (
    <section class="waiting" aria-label="Pods that wait for a node">
      <h3>{plural(count, 'pod is', 'pods are')} waiting for a node</h3>
      {!condensed.value && <PodTiles pods={pods} blocked={nobody} />}
    </section>
  );
};

/** The cluster: zones, in each its nodes. */
export const Zones = () => (
  <section class={`zones ${condensed.value ? 'condensed' : ''}`} aria-labelledby="nodes-title">
    <div class="zones-head">
      <h2 id="nodes-title">Nodes</h2>
      {store.nodeCount() > manyNodes && <Search />}
      <Legend />
    </div>
    <Waiting />
    <div class="zone-list">
      {store.zones.value.map(({ zone, nodes }) => (
        <section key={zone} class="zone" aria-label={zone === '' ? 'Nodes without a zone' : `Zone ${zone}`}>
          <h3>
            {zone === '' ? 'no zone' : zone} <span class="count">{plural(nodes.length, 'node')}</span>
          </h3>
          <ul class="nodes">
            {nodes.map(name => (
              <NodeBox key={name} name={name} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  </section>
);
