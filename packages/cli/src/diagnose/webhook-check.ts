import type { Manifest } from '../install/install-locate.ts';
import { type InstallationFacts, type InstalledWorkload, isOperator } from './facts.ts';

/**
 * A missing or wrong setting. An Error keeps maintenances from working or makes them unsafe; a
 * Warning will do so some day.
 */
export type Finding = {
  readonly severity: 'Error' | 'Warning';
  readonly message: string;
  readonly remedy: string;
};

/** One check. `well` returns the text for a check without findings. */
export type Check = {
  readonly name: string;
  readonly well: (facts: InstallationFacts) => string;
  readonly findings: (facts: InstallationFacts) => readonly Finding[];
};

/** Returns kind, namespace and name, for messages. */
export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Returns the manifests of these kinds that this version installs. */
export function wantedOf(
  { wanted }: InstallationFacts,
  ...kinds: readonly string[]
): readonly Manifest[] {
  return wanted.filter(({ kind }) => kinds.includes(kind));
}

/** Returns the Deployments of operators. */
export function operators({ workloads }: InstallationFacts): readonly InstalledWorkload[] {
  return workloads.filter(isOperator);
}

/**
 * Returns the remedy for objects that are missing or of another version. Objects of OLM must not be
 * applied by other means: OLM would change them back, or leave them behind when it removes the
 * rest.
 */
export function reinstall({ olm, version }: InstallationFacts): string {
  return olm === undefined
    ? 'drydock install --apply brings it to this version'
    : `OLM has installed the operator: update it there, and apply drydock-${olm}-prerequisites-${version}.yaml (docs/install-olm.md)`;
}

type WebhookConfiguration = {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig?: { readonly caBundle?: string };
  }[];
};

function servesNoWebhook({ spec }: InstalledWorkload): boolean {
  return spec.template.spec.containers.some(({ args = [] }) => args.includes('--webhook-port=0'));
}

function unserved(facts: InstallationFacts, configuration: Manifest) {
  return ({ metadata: { namespace, name } }: InstalledWorkload): Finding => ({
    severity: 'Error',
    message: `Deployment ${namespace}/${name} runs with --webhook-port=0, but ${nameOf(configuration)} is there: every create of a maintenance is refused`,
    remedy: `kubectl delete validatingwebhookconfiguration ${configuration.metadata.name}, if there is to be no webhook; else ${reinstall(facts)}`,
  });
}

function trialFindings({ webhookTrial }: InstallationFacts, logs: string): readonly Finding[] {
  if (webhookTrial === undefined || webhookTrial.kind === 'refused') return [];
  if (webhookTrial.kind === 'failed')
    return [
      {
        severity: 'Error',
        message: `it does not answer, and every create of a maintenance is refused: ${webhookTrial.why}`,
        remedy: logs,
      },
    ];
  if (webhookTrial.kind === 'passed')
    return [
      {
        severity: 'Error',
        message:
          'a NodeMaintenance of a node that does not exist was not refused (dry run): the API server does not ask the webhook, or ignores that it fails',
        remedy:
          'compare failurePolicy, rules and selectors: kubectl get validatingwebhookconfiguration drydock -o yaml',
      },
    ];
  return [
    {
      severity: 'Warning',
      message: `it could not be tried, so nobody knows whether it answers: ${webhookTrial.why}`,
      remedy: 'drydock check with the rights of drydock-maintenance-editor tries it by a dry run',
    },
  ];
}

/** Check of the webhook by a dry run; the state of its parts explains why it does not respond. */
export const webhook: Check = {
  name: 'webhook',
  well: () => 'asked by a dry run, it refused what it has to refuse',
  findings: facts => {
    const [wanted] = wantedOf(facts, 'ValidatingWebhookConfiguration');
    const here = wanted && (facts.found.get(wanted) as WebhookConfiguration | undefined);
    if (wanted === undefined || here === undefined)
      return [
        {
          severity: 'Warning',
          message:
            'the webhook is not installed: errors of an object are reported only in its status',
          remedy: reinstall(facts),
        },
      ];
    const bare = (here.webhooks ?? [])
      .filter(({ clientConfig }) => (clientConfig?.caBundle ?? '') === '')
      .map(({ name }) => name);
    const logs = `check the log of the leader: kubectl -n ${facts.namespace} logs -l app.kubernetes.io/name=drydock`;
    return [
      ...operators(facts).filter(servesNoWebhook).map(unserved(facts, wanted)),
      ...(bare.length > 0
        ? [
            {
              severity: 'Error',
              message: `${nameOf(wanted)} has no certificate authority for ${bare.join(', ')}: every create of a maintenance is refused`,
              remedy: logs,
            } as const,
          ]
        : []),
      ...(facts.webhookReplicas === 0 && facts.webhookTrial?.kind !== 'refused'
        ? [
            {
              severity: 'Error',
              message: `no replica serves the webhook (Service ${facts.namespace}/${facts.webhookService}): every create of a maintenance is refused`,
              remedy: logs,
            } as const,
          ]
        : []),
      ...trialFindings(facts, logs),
    ];
  },
};
