/** Collator that compares numbers in names by value. */
export const collator = new Intl.Collator('en', { numeric: true });
