import { type CostMeter, fail, overload } from '../failure.ts';
import { isInt, isUint } from '../values/numbers.ts';
import { durationOf, instantOf } from '../values/times.ts';
import { Duration, List, Uint, type Value } from '../values/values.ts';

export type Arithmetic = '+' | '-' | '*' | '/' | '%';

function whole(operator: Arithmetic, left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0n ? fail('division by zero') : left / right;
    case '%':
      return right === 0n ? fail('modulus by zero') : left % right;
    default:
      return operator satisfies never;
  }
}

function double(operator: Arithmetic, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return overload();
  }
}

function joined(left: Value, right: Value, meter: CostMeter): Value {
  if (typeof left === 'string' && typeof right === 'string') {
    meter.chargeText(left.length + right.length);
    return left + right;
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    meter.chargeText(left.length + right.length);
    return Uint8Array.from([...left, ...right]);
  }
  if (!(left instanceof List && right instanceof List)) return overload();
  meter.charge(left.size + right.size);
  return List.of([...left, ...right]);
}

/** Returns sums and differences of timestamps and durations; undefined for other values. */
function timed(operator: Arithmetic, left: Value, right: Value): Value | undefined {
  if (operator !== '+' && operator !== '-') return undefined;
  const moment = (value: Value): bigint | undefined =>
    value instanceof Temporal.Instant ? value.epochNanoseconds : undefined;
  const span = (value: Value): bigint | undefined =>
    value instanceof Duration ? value.nanoseconds : undefined;
  const [from, length, until, more] = [moment(left), span(left), moment(right), span(right)];
  if (length !== undefined && more !== undefined) return durationOf(whole(operator, length, more));
  if (from !== undefined && more !== undefined) return instantOf(whole(operator, from, more));
  if (operator === '-')
    return from !== undefined && until !== undefined ? durationOf(from - until) : undefined;
  return length !== undefined && until !== undefined ? instantOf(length + until) : undefined;
}

/**
 * Returns the result of an operator on two values. Both must have the same type: nothing is
 * converted.
 */
export function computed(operator: Arithmetic, left: Value, right: Value, meter: CostMeter): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    const result = whole(operator, left, right);
    return isInt(result) ? result : fail('integer overflow');
  }
  if (typeof left === 'number' && typeof right === 'number') return double(operator, left, right);
  if (left instanceof Uint && right instanceof Uint) {
    const result = whole(operator, left.value, right.value);
    return isUint(result) ? new Uint(result) : fail('unsigned integer overflow');
  }
  return (
    timed(operator, left, right) ?? (operator === '+' ? joined(left, right, meter) : overload())
  );
}

export function negated(value: Value): Value {
  if (typeof value === 'number') return -value;
  if (typeof value !== 'bigint') return overload();
  return isInt(-value) ? -value : fail('integer overflow');
}
