/** The name of an object that is made for another one: at most 63 characters, of the name of that one and the whole of what makes it unique. */
export const truncatedName = (name: string, suffix: string): string =>
  `${name.slice(0, 62 - suffix.length).replace(/[-.]+$/, '')}-${suffix}`;
