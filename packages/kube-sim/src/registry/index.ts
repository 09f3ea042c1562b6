export { budgetsOver, newUid, type RegistryContext } from './metadata.ts';
