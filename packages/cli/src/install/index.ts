export {
  adaptToServerVersion,
  type Binding,
  isBoundBy,
  isMadeByOlm,
  keyOf,
  type Manifest,
  manifestsIn,
  manifestsOf,
  type OlmVersion,
} from './install-locate.ts';
export { installationLabel, manifests, partLabel } from './inventory.ts';
export { defaultNamespace, defaultParts, extraParts, type Part } from './rollout.ts';
