import { maintenancePlanSpec } from '@drydock/apis/schema';
import { z } from 'zod';

/**
 * The fields of a MaintenancePlan and their defaults, for whoever has to tell what somebody has
 * written. The operator runs without the schemas.
 */

function isOpen(type: z.ZodType): boolean {
  return (type.meta() ?? {})['x-kubernetes-preserve-unknown-fields'] === true;
}

function pathsOf(type: z.ZodType, path: string): readonly string[] {
  if (type instanceof z.ZodOptional) return pathsOf(type.unwrap() as z.ZodType, path);
  if (type instanceof z.ZodDefault) {
    const inside = pathsOf(type.unwrap() as z.ZodType, path);
    return [
      `${path}=${JSON.stringify(type.parse(undefined))}`,
      ...inside.filter(one => one !== path),
    ];
  }
  if (type instanceof z.ZodArray) {
    const inside = pathsOf(type.element as z.ZodType, `${path}[]`);
    return inside.length === 1 && inside[0] === `${path}[]` ? [path] : inside;
  }
  if (!(type instanceof z.ZodObject) || isOpen(type)) return [path];
  const fields = Object.entries(type.shape);
  const before = path === '' ? '' : `${path}.`;
  return fields.length === 0
    ? [before]
    : fields.flatMap(([name, field]) => pathsOf(field, `${before}${name}`));
}

/** The generated file, by its path. */
export function planFieldsFile(): readonly [string, string] {
  const lines = pathsOf(maintenancePlanSpec, '').map(path => `  '${path}',`);
  return [
    'packages/apis/src/maintenance-plan/plan-fields.ts',
    [
      "import type { FieldPaths } from '../read.ts';",
      '',
      '/** Of spec of a MaintenancePlan. Generated from its schema: npm run generate. */',
      'export const planFields: FieldPaths = [',
      ...lines,
      '];',
      '',
    ].join('\n'),
  ];
}
