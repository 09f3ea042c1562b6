import { items, objects, part, text } from '../object.ts';
import { name, word } from './cells.ts';
import type { Column } from './column.ts';

type Cell = Column['cell'];

const servedVersions: Cell = object =>
  objects(part(object, 'spec')['versions'])
    .filter(({ served }) => served === true)
    .map(version => `${text(version, 'name')}${version['storage'] === true ? '(storage)' : ''}`)
    .sort()
    .join(',');

const isEstablished: Cell = object =>
  objects(part(object, 'status')['conditions']).some(
    one => one['type'] === 'Established' && one['status'] === 'True',
  );

/**
 * Cells of CustomResourceDefinitions; upstream in
 * apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor.
 */
export const definitionCells: readonly Cell[] = [
  name,
  word('spec', 'scope'),
  servedVersions,
  object => object.metadata.creationTimestamp,
  word('spec', 'group'),
  word('spec', 'names', 'kind'),
  object =>
    items(part(object, 'spec', 'names')['shortNames'])
      .map(String)
      .join(','),
  isEstablished,
];
