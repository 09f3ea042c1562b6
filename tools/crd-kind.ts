import type { z } from 'zod';

/** What a CustomResourceDefinition is made from. */

type Column = {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
};

export type Version = {
  readonly name: string;
  /** Objects are stored in this one; the others are served beside it, with the same content. */
  readonly storage: boolean;
  readonly spec: z.ZodType;
  /** Left out: the kind has none. */
  readonly status?: z.ZodType;
  readonly required: readonly string[];
  readonly columns: readonly Column[];
  readonly selectable: readonly string[];
};

export type Kind = {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  /** Cluster when left out. */
  readonly scope?: 'Namespaced';
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly versions: readonly Version[];
};

export const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
