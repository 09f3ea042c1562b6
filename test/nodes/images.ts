import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Descriptor, Layout } from '../../tools/release/image/oci.ts';
import { manifest, root } from '../../tools/release/paths.ts';
import { cached, makeCached } from '../control-plane/build/cache.ts';
import { run } from '../control-plane/processes/command.ts';

/** The images of the nodes: archives that containerd imports, for nothing is ever pulled. */

export const workloadImage = 'localhost/workload:1';
export const productRepository = 'localhost/drydock';

async function must(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, stdout, stderr } = await run(command, args, { cwd, timeoutMs: 300_000 });
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
}

/** Names the image for containerd, which takes the name from the index of a layout. */
async function archive(
  layout: string,
  image: Descriptor,
  reference: string,
  file: string,
): Promise<void> {
  const named = { ...image, annotations: { 'io.containerd.image.name': reference } };
  new Layout(layout).index([named], {});
  await must('tar', ['-cf', file, '.'], layout);
}

/** An image of one static program. */
async function programImage(folder: string, program: string, name: string): Promise<void> {
  const [content, layout] = [join(folder, `${name}-content`), join(folder, `${name}-layout`)];
  mkdirSync(content, { recursive: true });
  cpSync(program, join(content, name));
  const made = new Layout(layout);
  const config = { config: { Entrypoint: [`/${name}`], User: '65534:65534' } };
  const image = made.image(
    config,
    [made.layer(content)],
    { os: 'linux', architecture: 'amd64' },
    {},
  );
  await archive(layout, image, `localhost/${name}:1`, join(folder, `${name}.tar`));
  for (const one of [content, layout]) rmSync(one, { recursive: true });
}

/** `pause`, which every pod has, and `workload`: a folder with their archives. */
export function ensureOwnImages(own: string): Promise<string> | string {
  const wanted = { name: 'node-images', key: basename(own) };
  const make = async (folder: string): Promise<void> => {
    for (const name of ['pause', 'workload'])
      await programImage(folder, join(own, 'workload'), name);
  };
  return (
    cached(wanted) ??
    makeCached({ ...wanted, announcement: 'packing the images of the pods', make })
  );
}

const sources = [
  'packages',
  'deploy',
  join('tools', 'release'),
  'scripts',
  'package.json',
  'package-lock.json',
  'LICENSE',
  'Containerfile',
];

/** Of everything that the image and the chart are made of. */
function productKey(): string {
  const hash = createHash('sha256');
  const files = sources.flatMap(name =>
    statSync(join(root, name)).isFile()
      ? [name]
      : readdirSync(join(root, name), { recursive: true, withFileTypes: true })
          .filter(entry => entry.isFile() && !entry.name.endsWith('.test.ts'))
          .map(entry => join(entry.parentPath, entry.name).slice(root.length)),
  );
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

async function release(folder: string): Promise<void> {
  await must(process.execPath, ['tools/release.ts', '--only', 'image,chart'], root);
  const [layout, released] = [join(folder, 'layout'), join(root, 'dist', 'release')];
  mkdirSync(layout);
  await must(
    'tar',
    ['-xzf', join(released, `${manifest.name}-image-${manifest.version}.tar.gz`)],
    layout,
  );
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests: readonly Descriptor[];
  };
  const image = index.manifests.find(({ platform }) => platform?.architecture === 'amd64');
  if (image === undefined) throw new Error('the release has no image for amd64');
  await archive(
    layout,
    image,
    `${productRepository}:${manifest.version}`,
    join(folder, 'drydock.tar'),
  );
  rmSync(layout, { recursive: true });
  renameSync(join(released, `drydock-chart-${manifest.version}.tgz`), join(folder, 'chart.tgz'));
}

/** Sources change often: of what earlier ones have left here the newest few are kept. */
function prune(folder: string): void {
  const others = readdirSync(dirname(folder)).map(name => join(dirname(folder), name));
  const old = others
    .filter(one => !basename(one).startsWith('building-'))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const one of old.slice(4)) rmSync(one, { recursive: true, force: true });
}

/**
 * A folder with the product's image as it is released (`drydock.tar`) and its chart (`chart.tgz`).
 */
export async function ensureProduct(): Promise<string> {
  const wanted = { name: 'node-product', key: productKey() };
  const before = cached(wanted);
  if (before !== undefined) return before;
  const folder = await makeCached({
    ...wanted,
    announcement: 'making the image of the release, half a minute,',
    make: release,
  });
  prune(folder);
  return folder;
}

/**
 * Puts archives into the folder from which nodes import them when they boot. A new name is a new
 * import.
 */
export function offer(images: string, ...archives: readonly string[]): void {
  mkdirSync(images, { recursive: true });
  for (const file of archives) {
    const draft = join(images, `.${basename(file)}`);
    cpSync(file, draft);
    renameSync(draft, join(images, basename(file)));
  }
}
