/**
 * How many requests are looked at at the same time. Whoever reaches the port may send reviews: what one address takes of memory and of the API server is bounded, and
 * so is what all take together.
 */
export class InflightLimiter {
  readonly #limits: { readonly requests: number; readonly perAddress: number; readonly bytes: number };
  readonly #byAddress = new Map<string, number>();
  #requests = 0;
  #bytes = 0;

  /** The API server asks for every maintenance once: a few hundred at once are a cluster that is being taken apart. */
  constructor(limits = { requests: 256, perAddress: 64, bytes: 64 * 1024 * 1024 }) {
    this.#limits = limits;
  }

  /** Lets one in that holds so many bytes; the answer lets it out again. Undefined when there is no room. */
  enter(address: string, bytes: number): (() => void) | undefined {
    const here = this.#byAddress.get(address) ?? 0;
    const { requests, perAddress, bytes: most } = this.#limits;
    if (this.#requests >= requests || here >= perAddress || this.#bytes + bytes > most) return undefined;
    this.#requests += 1;
    this.#bytes += bytes;
    this.#byAddress.set(address, here + 1);
    return () => {
      this.#requests -= 1;
      this.#bytes -= bytes;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    };
  }
}
