import { type PodState, podWords } from '../../model/words.ts';

const states: readonly PodState[] = ['running', 'starting', 'leaving', 'blocked'];

/** Legend of the shapes. */
export function Legend() {
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
