/** Names as people sort them: numbers as numbers. */
export const collator = new Intl.Collator('en', { numeric: true });
