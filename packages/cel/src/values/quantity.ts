import { fail } from '../failure.ts';

/**
 * Kubernetes' quantities, exactly: 1Gi, 100m, 1e3. Upstream: apimachinery/pkg/api/resource,
 * apiserver/pkg/cel/library/quantity.go.
 */

const factors: Readonly<Record<string, readonly [numerator: bigint, denominator: bigint]>> = {
  '': [1n, 1n],
  n: [1n, 10n ** 9n],
  u: [1n, 10n ** 6n],
  m: [1n, 1000n],
  k: [1000n, 1n],
  M: [10n ** 6n, 1n],
  G: [10n ** 9n, 1n],
  T: [10n ** 12n, 1n],
  P: [10n ** 15n, 1n],
  E: [10n ** 18n, 1n],
  Ki: [2n ** 10n, 1n],
  Mi: [2n ** 20n, 1n],
  Gi: [2n ** 30n, 1n],
  Ti: [2n ** 40n, 1n],
  Pi: [2n ** 50n, 1n],
  Ei: [2n ** 60n, 1n],
};

const form = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;
const billion = 10n ** 9n;

export class Quantity {
  /** Value in billionths, to which Kubernetes rounds up, away from zero. */
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }

  static parse(text: string): Quantity | undefined {
    // Kubernetes has room for 18 digits; no real quantity has more.
    const [, sign, digits = '', exponent, suffix = ''] =
      (text.length <= 64 && form.exec(text)) || [];
    const factor = factors[suffix];
    if (digits === '' || factor === undefined) return undefined;
    const [whole = '', fraction = ''] = digits.split('.');
    const power = Number(exponent ?? 0);
    let numerator = BigInt(whole + fraction) * factor[0] * billion;
    let denominator = 10n ** BigInt(fraction.length) * factor[1];
    if (power >= 0) numerator *= 10n ** BigInt(power);
    else denominator *= 10n ** BigInt(-power);
    const nano = (numerator + denominator - 1n) / denominator;
    return new Quantity(sign === '-' ? -nano : nano);
  }

  compare(other: Quantity): number {
    return this.nano < other.nano ? -1 : Number(this.nano > other.nano);
  }

  get isInteger(): boolean {
    return (
      this.nano % billion === 0n && BigInt.asIntN(64, this.nano / billion) === this.nano / billion
    );
  }

  toInteger(): bigint {
    return this.isInteger ? this.nano / billion : fail('cannot convert value to integer');
  }

  toNumber(): number {
    return Number(this.nano) / 1e9;
  }
}
