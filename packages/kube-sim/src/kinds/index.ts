export { builtInKinds } from './built-in.ts';
