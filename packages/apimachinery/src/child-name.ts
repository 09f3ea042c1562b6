/**
 * Returns the name of an object that is created for another one: at most 63 characters, with the
 * beginning of the other name and the whole unique suffix.
 */
export function truncatedName(name: string, suffix: string): string {
  return `${name.slice(0, 62 - suffix.length).replace(/[-.]+$/, '')}-${suffix}`;
}
