import { identityGroup, instanceIn, isCalled } from '@drydock/core/machine';
import { SecondaryIndex } from './secondary-index.ts';

type Provided = { readonly key: string; readonly providerId?: string };

/** An index of Nodes or Machines in a cache by their providerID. */
export class IdentityIndex<T extends Provided> extends SecondaryIndex<T> {
  constructor() {
    super(identityGroup);
  }

  /**
   * Returns all objects that may be the same machine as this one by its providerID, and the given
   * others, each once.
   */
  near(one: Pick<Provided, 'providerId'>, others: readonly T[]): Iterable<T> {
    const all = [...this.in(identityGroup(one)), ...others];
    return new Map(all.map(each => [each.key, each])).values();
  }

  /**
   * Returns all objects with this name in the cloud: by instance, providerID, or any longer form of
   * it.
   */
  called(name: string): readonly T[] {
    const group = identityGroup({ providerId: name }) ?? '';
    const all = new Set([instanceIn(name).toLowerCase(), group].flatMap(one => this.in(one)));
    return [...all].filter(
      ({ providerId }) => providerId !== undefined && isCalled(providerId, name),
    );
  }
}
