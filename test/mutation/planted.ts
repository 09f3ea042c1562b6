/**
 * Which fault is awake, and which ones have been come by. The planted text asks this at every
 * fault.
 */
export const soil = { awake: '', met: new Set<string>() };

export function planted(id: string): boolean {
  soil.met.add(id);
  return id === soil.awake;
}
