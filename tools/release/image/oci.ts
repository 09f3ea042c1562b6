import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { below, gzipped, tarOf } from '../archive.ts';

/** An image layout of the OCI image specification 1.1. */

export type Descriptor = {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly artifactType?: string;
};

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
} as const;

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** `diffId`: digest of the layer before it is compressed. */
export type Layer = { readonly descriptor: Descriptor; readonly diffId: string };

/** Writes blobs, and remembers nothing of them but what it answers. */
export class Layout {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
    writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}\n');
  }

  #blob(bytes: Buffer, mediaType: string): Descriptor {
    const digest = sha256(bytes);
    writeFileSync(join(this.#folder, 'blobs', 'sha256', digest.slice(7)), bytes);
    return { mediaType, digest, size: bytes.length };
  }

  #json(value: object, mediaType: string): Descriptor {
    return this.#blob(Buffer.from(JSON.stringify(value)), mediaType);
  }

  /** The files of a folder, owned by root, without dates. */
  layer(folder: string): Layer {
    const bytes = tarOf(folder, below(folder));
    return { descriptor: this.#blob(gzipped(bytes), types.layer), diffId: sha256(bytes) };
  }

  image(
    config: object,
    layers: readonly Layer[],
    platform: NonNullable<Descriptor['platform']>,
    annotations: Readonly<Record<string, string>>,
  ): Descriptor {
    const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) };
    const descriptor = this.#json({ ...platform, ...config, rootfs }, types.config);
    const manifest = {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: descriptor,
      layers: layers.map(one => one.descriptor),
      annotations,
    };
    return { ...this.#json(manifest, types.manifest), platform };
  }

  /**
   * Something about an image, which whoever asks a registry for its referrers finds. Of no
   * platform: nobody runs it.
   */
  attached(
    artifactType: string,
    content: object,
    { mediaType, digest, size }: Descriptor,
  ): Descriptor {
    const config = this.#json({}, types.empty);
    const layer = this.#json(content, artifactType);
    const manifest = {
      schemaVersion: 2,
      mediaType: types.manifest,
      artifactType,
      config,
      layers: [layer],
      subject: { mediaType, digest, size },
    };
    return {
      ...this.#json(manifest, types.manifest),
      artifactType,
      platform: { os: 'unknown', architecture: 'unknown' },
    };
  }

  /**
   * What is in the layout: the images, one for each platform, and what is attached to them. This
   * index is what is pushed.
   */
  index(manifests: readonly Descriptor[], annotations: Readonly<Record<string, string>>): void {
    writeFileSync(
      join(this.#folder, 'index.json'),
      JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests, annotations }),
    );
  }
}
