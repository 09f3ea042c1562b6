import type { WindowView } from '../../../src/scene.ts';
import { toneOf, windowText } from '../../model/machine-words.ts';
import { now, open, selected, store } from '../../page.ts';
import { MachineStory } from './machine-card.tsx';

/** Limit of cards; no user reads a longer list. */
const maxCards = 30;

/** Announced events of machines, and their progress. */
export function Announced() {
  const machines = store.machines.value.filter(
    ({ node }) => node === undefined || node !== selected.value,
  );
  if (machines.length === 0) return null;
  return (
    <section class="announced" aria-labelledby="announced-title">
      <h2 id="announced-title">Announced</h2>
      <ul class="cards">
        {machines.slice(0, maxCards).map(machine => {
          const { node } = machine;
          return (
            <li key={machine.key} class={`card ${toneOf(machine)}`}>
              <div class="card-head">
                <h3>
                  {node === undefined ? (
                    machine.machine
                  ) : (
                    <button type="button" class="link" onClick={() => open(node)}>
                      {node}
                    </button>
                  )}
                </h3>
              </div>
              <MachineStory machine={machine} />
            </li>
          );
        })}
      </ul>
      {machines.length > maxCards && <p class="quiet">and {machines.length - maxCards} more</p>}
    </section>
  );
}

function Window({ window }: { readonly window: WindowView }) {
  return (
    <li class={window.problem === undefined ? 'budget' : 'budget trouble'}>
      <div class="budget-head">
        <span class="budget-name">{window.key}</span>
      </div>
      <p class={window.problem === undefined ? 'quiet' : 'matter'}>
        {windowText(window, now.value)}
      </p>
    </li>
  );
}

/** Maintenance windows. */
export function Windows() {
  const windows = store.windows.value;
  if (windows.length === 0) return null;
  return (
    <section class="budgets windows" aria-labelledby="windows-title">
      <h2 id="windows-title">Maintenance windows</h2>
      <ul class="budget-list">
        {windows.slice(0, maxCards).map(window => (
          <Window key={window.key} window={window} />
        ))}
      </ul>
      {windows.length > maxCards && <p class="quiet">and {windows.length - maxCards} more</p>}
    </section>
  );
}
