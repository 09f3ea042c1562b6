const pattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reports whether a text has the form of a UID: 8, 4, 4, 4 and 12 hexadecimal digits. */
export function isUid(text: string): boolean {
  return pattern.test(text);
}
