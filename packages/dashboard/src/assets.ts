import { createHash } from 'node:crypto';
import { readShipped } from '@drydock/utils/shipped';

/** A file of the dashboard. */
export type Asset = { readonly type: string; readonly body: Buffer; readonly tag: string };

/** Files by path; `npm run generate` builds them from packages/dashboard/ui. */
const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
  '/licenses.txt': ['licenses.txt', 'text/plain; charset=utf-8'],
} as const;

/** Reads all files, so that a missing one shows at the start. */
export function readAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    Object.entries(files).map(([path, [file, type]]) => {
      const body = readShipped(`packages/dashboard/assets/${file}`);
      return [
        path,
        {
          type,
          body,
          tag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 20)}"`,
        },
      ];
    }),
  );
}
