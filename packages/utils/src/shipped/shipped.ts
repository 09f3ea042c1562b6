import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';

/**
 * Files that ship with the code: package.json, the manifests of deploy/, the page. In a clone and
 * in the npm package they lie beside it; in a single executable they are assets with the same
 * paths. The root is the closest folder above the code that has `deploy/`.
 */
let root: URL | undefined;

function rootOf(code: string): URL {
  let folder = new URL('./', code);
  while (!existsSync(new URL('deploy/', folder)) && folder.pathname !== '/')
    folder = new URL('../', folder);
  return folder;
}

function shipped(path: string): URL {
  root ??= rootOf(import.meta.url);
  return new URL(path, root);
}

/**
 * Reads a file by its path in the clone, for example `deploy/crds/x.yaml`. Throws when it is
 * missing: then the build is incomplete.
 */
export function readShipped(path: string): Buffer {
  return isSea() ? Buffer.from(getRawAsset(path)) : readFileSync(shipped(path));
}

/** Lists the names in a folder of the clone, for example `deploy/crds`, sorted. */
export function listShipped(folder: string): readonly string[] {
  if (!isSea()) return readdirSync(shipped(`${folder}/`)).sort();
  const inside = getAssetKeys().filter(key => key.startsWith(`${folder}/`));
  return [...new Set(inside.map(key => key.slice(folder.length + 1).split('/')[0] ?? ''))].sort();
}
