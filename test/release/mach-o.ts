import { createHash } from 'node:crypto';

/**
 * The signature in an executable of macOS, read as its kernel reads it (xnu: bsd/sys/codesign.h,
 * osfmk/kern/cs_blobs.h).
 */

const magics = {
  executable: 0xfeedfacf,
  superBlob: 0xfade0cc0,
  codeDirectory: 0xfade0c02,
} as const;
const codeSignatureCommand = 0x1d;
const sha256 = 2;

/**
 * Where the signature is: load commands are little-endian, and what is in the signature is
 * big-endian.
 */
function signatureAt(file: Buffer): number {
  if (file.readUInt32LE(0) !== magics.executable) throw new Error('it is no 64-bit Mach-O file');
  let at = 32;
  for (let left = file.readUInt32LE(16); left > 0; left -= 1) {
    if (file.readUInt32LE(at) === codeSignatureCommand) return file.readUInt32LE(at + 8);
    at += file.readUInt32LE(at + 4);
  }
  throw new Error('it is not signed');
}

function directoryIn(file: Buffer, blob: number): number {
  if (file.readUInt32BE(blob) !== magics.superBlob)
    throw new Error('it has no signature where it says so');
  const offsets = Array.from(
    { length: file.readUInt32BE(blob + 8) },
    (_, index) => blob + file.readUInt32BE(blob + 16 + index * 8),
  );
  const found = offsets.find(offset => file.readUInt32BE(offset) === magics.codeDirectory);
  if (found === undefined) throw new Error('its signature has no code directory');
  return found;
}

/** What the code directory says: `wrong` are the pages whose hash is another one. */
export type Signature = {
  readonly identifier: string;
  readonly adHoc: boolean;
  readonly pages: number;
  readonly covered: number;
  readonly wrong: readonly number[];
};

/**
 * Reads the signature and hashes all that it covers. Throws where there is none, or one that is not
 * read here.
 */
export function signatureOf(file: Buffer): Signature {
  const blob = signatureAt(file);
  const directory = directoryIn(file, blob);
  const word = (offset: number): number => file.readUInt32BE(directory + offset);
  const [hashes, name, pages, covered] = [
    directory + word(16),
    directory + word(20),
    word(28),
    word(32),
  ];
  const [hashSize, hashType, pageSize] = [
    file[directory + 36],
    file[directory + 37],
    2 ** (file[directory + 39] ?? 0),
  ];
  if (hashSize !== 32 || hashType !== sha256) throw new Error(`its hashes are of type ${hashType}`);
  const wrong = Array.from({ length: pages }, (_, page) => page).filter(page => {
    const bytes = file.subarray(page * pageSize, Math.min((page + 1) * pageSize, covered));
    return !createHash('sha256')
      .update(bytes)
      .digest()
      .equals(file.subarray(hashes + page * 32, hashes + (page + 1) * 32));
  });
  return {
    identifier: file.toString('latin1', name, file.indexOf(0, name)),
    adHoc: (word(12) & 2) !== 0,
    pages,
    covered: blob === covered ? covered : Number.NaN,
    wrong,
  };
}
