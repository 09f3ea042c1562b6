import { build as esbuild } from 'esbuild';
import { root } from './paths.ts';

/** CommonJS in an ES module asks for Node's own modules by `require`. */
const banner =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

type Bundled = {
  /** Folders of the packages whose code is in it, relative to the clone, sorted. */
  readonly packages: readonly string[];
};

/** Packages of others: our own are reached by links as well. */
function packageOf(input: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?!@drydock\/)(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0];
}

/**
 * Bundles packages/cli/src/main.mjs with all packages into `folder`, as main.mjs. With `chunks`
 * each command, and the AWS SDK, is a file of its own that is loaded when it is needed; without,
 * all is one file. The same sources give the same bytes.
 */
export async function bundle(
  folder: string,
  { chunks }: { readonly chunks: boolean },
): Promise<Bundled> {
  const { metafile } = await esbuild({
    entryPoints: { main: 'packages/cli/src/main.mjs' },
    // A clone may have its packages from elsewhere by a link: the paths in the bundle are the same.
    preserveSymlinks: true,
    absWorkingDir: root.replace(/\/$/, ''),
    outdir: folder,
    bundle: true,
    splitting: chunks,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    // Of a CommonJS package that is loaded when it is needed, a bundle in chunks exports the
    // default alone.
    mainFields: ['module', 'main'],
    target: 'node26',
    outExtension: { '.js': '.mjs' },
    banner: { js: banner },
    minifySyntax: true,
    minifyWhitespace: true,
    // Names stay: a stack of a defect has to be readable.
    keepNames: false,
    legalComments: 'none',
    charset: 'utf8',
    metafile: true,
    logLevel: 'error',
  });
  const inputs = Object.values(metafile.outputs).flatMap(output =>
    Object.entries(output.inputs).flatMap(([input, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [input] : [],
    ),
  );
  return { packages: [...new Set(inputs.flatMap(input => packageOf(input) ?? []))].sort() };
}
