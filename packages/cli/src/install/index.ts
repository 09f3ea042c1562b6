export { type Binding, isBoundBy, isMadeByOlm, type OlmVersion } from './install-by-olm.ts';
export { keyOf, type Manifest, manifestsIn, manifestsOf } from './install-files.ts';
export { adaptToServerVersion } from './install-fit.ts';
export { manifests } from './install-manifests.ts';
export { defaultNamespace, defaultParts, extraParts, type Part } from './install-parts.ts';
export { installationLabel, partLabel } from './ownership.ts';
