import { identityGroup, instanceIn, isCalled } from '../../core/machine/provider-id.ts';
import { SecondaryIndex } from './secondary-index.ts';

type Provided = { readonly key: string; readonly providerId?: string };

/** Nodes or Machines of a cache by what their providerID says. */
export class IdentityIndex<T extends Provided> extends SecondaryIndex<T> {
  constructor() {
    super(identityGroup);
  }

  /** Whatever may be the same machine as this one by its providerID, and these others, each once. */
  near(one: Pick<Provided, 'providerId'>, others: readonly T[]): Iterable<T> {
    const all = [...this.in(identityGroup(one)), ...others];
    return new Map(all.map(each => [each.key, each])).values();
  }

  /** All that the cloud calls so: by instance, providerID, or any fuller name that it has. */
  called(name: string): readonly T[] {
    const group = identityGroup({ providerId: name }) ?? '';
    const all = new Set([instanceIn(name).toLowerCase(), group].flatMap(one => this.in(one)));
    return [...all].filter(({ providerId }) => providerId !== undefined && isCalled(providerId, name));
  }
}
