import { isDeepStrictEqual } from 'node:util';

/** Something that is chosen when the chart is rendered. */
export type Switch = {
  readonly name: string;
  /** As a template's `if` takes it. */
  readonly condition: string;
};

/** The same object for one setting of all switches: `on` has the names of those that are on. */
export type Variant = { readonly on: ReadonlySet<string>; readonly value: unknown };

/** A place at which the variants differ. Undefined: the field is not there. */
export class Choice {
  /** The first whose condition holds counts; the last has none. */
  readonly alternatives: readonly {
    readonly condition: string | undefined;
    readonly value: unknown;
  }[];

  constructor(alternatives: Choice['alternatives']) {
    this.alternatives = alternatives;
  }
}

/** A template is one value, whatever its fields are. */
function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/** Every setting of some switches, with all on first. */
function settings(switches: readonly Switch[]): readonly ReadonlySet<string>[] {
  return switches.reduce<readonly ReadonlySet<string>[]>(
    (all, { name }) =>
      all
        .flatMap(one => [new Set([...one, name]), one])
        .toSorted((one, other) => other.size - one.size),
    [new Set()],
  );
}

function agrees(
  on: ReadonlySet<string>,
  setting: ReadonlySet<string>,
  switches: readonly Switch[],
): boolean {
  return switches.every(({ name }) => on.has(name) === setting.has(name));
}

/** The values by the settings of these switches; undefined when they alone do not decide. */
function decidedBy(
  variants: readonly Variant[],
  switches: readonly Switch[],
): readonly (Variant & { readonly known: boolean })[] | undefined {
  const decided = settings(switches).map(on => {
    const values = variants
      .filter(variant => agrees(variant.on, on, switches))
      .map(({ value }) => value);
    return {
      on,
      known: values.length > 0,
      value: values[0],
      isOne: values.every(value => isDeepStrictEqual(value, values[0])),
    };
  });
  return decided.every(({ isOne }) => isOne) ? decided : undefined;
}

function subsets(switches: readonly Switch[]): readonly (readonly Switch[])[] {
  return switches
    .reduce<readonly (readonly Switch[])[]>(
      (all, one) => [...all, ...all.map(some => [...some, one])],
      [[]],
    )
    .toSorted((one, other) => one.length - other.length);
}

function conditionOf(on: ReadonlySet<string>, switches: readonly Switch[]): string | undefined {
  const parts = switches.filter(({ name }) => on.has(name)).map(({ condition }) => condition);
  const [first, ...rest] = parts;
  if (first === undefined) return undefined;
  return rest.length === 0
    ? first
    : `and ${parts.map(part => (part.includes(' ') ? `(${part})` : part)).join(' ')}`;
}

function choice(variants: readonly Variant[], switches: readonly Switch[]): Choice {
  for (const some of subsets(switches)) {
    const decided = decidedBy(variants, some);
    if (decided === undefined) continue;
    const known = decided.filter(one => one.known);
    // Alternatives that say the same as what comes after them say nothing.
    const alternatives = known.filter(
      (one, at) =>
        at === known.length - 1 ||
        !known.slice(at + 1).every(({ value }) => isDeepStrictEqual(value, one.value)),
    );
    return new Choice(
      alternatives.map(({ on, value }) => ({ condition: conditionOf(on, some), value })),
    );
  }
  throw new Error('the switches do not decide over the variants');
}

/** Lists of as many maps: compared one by one. */
function listsOf(
  variants: readonly Variant[],
): readonly { readonly on: ReadonlySet<string>; readonly value: readonly unknown[] }[] | undefined {
  const lists = variants.flatMap(({ on, value }) =>
    Array.isArray(value) ? [{ on, value: value as readonly unknown[] }] : [],
  );
  const isAlike =
    lists.length === variants.length &&
    lists.every(({ value }) => value.length === lists[0]?.value.length && value.every(isMap));
  return isAlike ? lists : undefined;
}

/** One object for all variants, with a Choice wherever they differ. */
export function merged(variants: readonly Variant[], switches: readonly Switch[]): unknown {
  const [first] = variants;
  if (first === undefined || variants.every(({ value }) => isDeepStrictEqual(value, first.value)))
    return first?.value;
  const lists = listsOf(variants);
  if (lists !== undefined)
    return lists[0]?.value.map((_, at) =>
      merged(
        lists.map(({ on, value }) => ({ on, value: value[at] })),
        switches,
      ),
    );
  if (!variants.every(({ value }) => isMap(value))) return choice(variants, switches);
  const keys = new Set(variants.flatMap(({ value }) => Object.keys(value as object)));
  return Object.fromEntries(
    [...keys].map(key => [
      key,
      merged(
        variants.map(({ on, value }) => ({
          on,
          value: (value as Readonly<Record<string, unknown>>)[key],
        })),
        switches,
      ),
    ]),
  );
}
