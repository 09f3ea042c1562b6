/**
 * Returns a few characters that stand for a text (FNV-1a, 64 bits, over its UTF-16 units). The hash
 * is reversible: it hides nothing, and proves nothing.
 */
export function short(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at += 1)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/** Returns a name as the value of a label: labels have 63 characters at most. */
export function labelOf(name: string): string {
  return name.length <= 63 ? name : short(name);
}
