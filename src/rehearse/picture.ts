import type { Foresight } from './foresight.ts';

/** The foresight as a self-contained SVG time line. */
export const foresightPicture = (foresight: Foresight): string =>
  `<svg xmlns="http://www.w3.org/2000/svg"><title>${foresight.takenAt}</title></svg>`;
