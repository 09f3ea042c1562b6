/**
 * A limiter for the requests that are processed at the same time. Any client that reaches the port
 * may send reviews: the memory and the API calls that one address causes are bounded, and so is the
 * total.
 */
export class InflightLimiter {
  readonly #limits: {
    readonly requests: number;
    readonly perAddress: number;
    readonly bytes: number;
  };
  readonly #byAddress = new Map<string, number>();
  #requests = 0;
  #bytes = 0;

  /**
   * Creates the limiter. The API server calls once for every maintenance: a few hundred at once
   * mean that a cluster is being taken apart.
   */
  constructor(limits = { requests: 256, perAddress: 64, bytes: 64 * 1024 * 1024 }) {
    this.#limits = limits;
  }

  /**
   * Admits a request of this many bytes; the returned function releases it after the response.
   * Returns undefined if there is no room.
   */
  enter(address: string, bytes: number): (() => void) | undefined {
    const here = this.#byAddress.get(address) ?? 0;
    const { requests, perAddress, bytes: most } = this.#limits;
    if (this.#requests >= requests || here >= perAddress || this.#bytes + bytes > most)
      return undefined;
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
