import { open, store } from '../../connection.ts';

/** Name of a node; a button that opens its details where the node exists. */
export function NodeName({ name }: { readonly name: string }) {
  return store.node(name).value === undefined ? (
    <span class="plan-node-name">{name}</span>
  ) : (
    <button type="button" class="link" onClick={() => open(name)}>
      {name}
    </button>
  );
}
