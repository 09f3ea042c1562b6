import { open, store } from '../../page.ts';

/** A node that can be looked at, where the cluster has it. */
export const NodeName = ({ name }: { readonly name: string }) =>
  store.node(name).value === undefined ? (
    <span class="plan-node-name">{name}</span>
  ) : (
    <button type="button" class="link" onClick={() => open(name)}>
      {name}
    </button>
  );
