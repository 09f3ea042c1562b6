/** Characters of a text of somebody else's: a webhook may say as much as it likes. */
const longestText = 1000;

/** At most so much of it. */
export const shortened = (text: string, most = longestText): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** For texts that name a few of many: sorted by the caller, bounded here. */
export const fewOf = (texts: readonly string[], most = 10): string =>
  texts.length <= most ? texts.join(', ') : `${texts.slice(0, most).join(', ')} and ${texts.length - most} more`;
