import { authUrlOf, type NovaConfig, NovaConfigError, settingsOf } from './config.ts';
import { isYes } from './environment.ts';
import { readMap, textsOf } from './yaml-file.ts';

/**
 * Reads the flat file of nova-kubernetes-drain: IdentityEndpoint, Username, Password, TenantName,
 * DomainID; and what it lacked: Region, Interface, CAFile, Insecure. Throws a NovaConfigError that
 * names file and key.
 */
export function seedConfig(file: string): NovaConfig {
  const map = readMap(file);
  if (map === undefined)
    throw new NovaConfigError(`there is no file ${file}; name another with --config-path`);
  const { need, get } = settingsOf(textsOf(map), file);
  const domain = { id: get('DomainID') ?? 'default' };
  const region = get('Region');
  const caFile = get('CAFile');
  const word = get('Interface') ?? 'internal';
  if (word !== 'internal' && word !== 'public' && word !== 'admin') {
    throw new NovaConfigError(
      `Interface in ${file} is ${word}; it may be internal, public or admin`,
    );
  }
  return {
    authUrl: authUrlOf(need('IdentityEndpoint'), 'IdentityEndpoint', file),
    login: {
      kind: 'password',
      user: { name: need('Username') },
      userDomain: domain,
      password: need('Password'),
      scope: { project: { name: need('TenantName') }, projectDomain: domain },
    },
    interface: word,
    ...(region !== undefined && { region }),
    ...(caFile !== undefined && { caFile }),
    insecure: isYes(get('Insecure')),
    source: file,
  };
}
