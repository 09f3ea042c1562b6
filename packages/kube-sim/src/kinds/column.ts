import type { Json } from '@drydock/apimachinery';
import type { Stored } from '../object.ts';
import columnTexts from './columns.json' with { type: 'json' };

/** A column of a Table response. */
export type Column = {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Priority; 0: always shown; higher: with `-o wide`. */
  readonly priority: number;
  readonly cell: (object: Stored, now: Temporal.Instant) => Json;
};

type ColumnText = Omit<Column, 'cell'>;
const texts: Readonly<Record<string, readonly ColumnText[] | undefined>> = columnTexts;

/**
 * Returns the columns of a built-in resource: definitions of the API server (columns.json, checked
 * by test/conformance/types), with their cells.
 */
export function columnsOf(
  resource: string,
  ...cells: readonly Column['cell'][]
): readonly Column[] {
  const heads = texts[resource] ?? [];
  if (heads.length !== cells.length)
    throw new Error(`${resource} has ${heads.length} columns and ${cells.length} cells`);
  return heads.map((head, index) => ({ ...head, cell: cells[index] as Column['cell'] }));
}

/** The first column of every kind. */
export const nameColumn: Column = {
  ...(texts['pods']?.[0] as ColumnText),
  cell: object => object.metadata.name,
};
