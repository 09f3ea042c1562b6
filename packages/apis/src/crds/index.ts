export { crdTexts, defaultGroups, legacyGroups } from './crds.ts';
