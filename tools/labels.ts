import { installationLabel, partLabel } from '@drydock/cli/install';
import { manifest } from './release/paths.ts';

const ofDrydock = {
  'app.kubernetes.io/part-of': 'drydock',
  'app.kubernetes.io/version': manifest.version,
};

/** Labels of what belongs to one installation; the folder adds name and part. */
export const labelsOfInstallation: Readonly<Record<string, string>> = {
  ...ofDrydock,
  [installationLabel]: 'drydock-system',
};

/** Labels of the kinds of drydock.dev, which belong to the cluster. */
export const labelsOfKinds: Readonly<Record<string, string>> = {
  'app.kubernetes.io/name': 'drydock',
  ...ofDrydock,
  [partLabel]: 'crds',
};
