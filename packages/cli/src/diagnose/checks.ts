import { leaseTimes } from '@drydock/kube-client';
import { systemClock } from '@drydock/utils';
import type { Manifest } from '../install/install-locate.ts';
import { rolloutTroubles } from '../install/rollout.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { version } from '../shared/version.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { covers, missingRights, type Rule } from './covers.ts';
import {
  type FlowSchema,
  gatherFacts,
  type InstallationFacts,
  type InstalledWorkload,
  isOperator,
} from './facts.ts';
import {
  type Check,
  type Finding,
  nameOf,
  operators,
  reinstall,
  wantedOf,
  webhook,
} from './webhook-check.ts';

function imageOf({ spec }: InstalledWorkload): string {
  return spec.template.spec.containers[0]?.image ?? '';
}

const kinds: Check = {
  name: 'kinds',
  well: facts =>
    `${wantedOf(facts, 'CustomResourceDefinition').length} CustomResourceDefinitions are of this version`,
  findings: facts =>
    wantedOf(facts, 'CustomResourceDefinition').flatMap((crd): readonly Finding[] => {
      const here = facts.found.get(crd);
      const name = nameOf(crd);
      if (here === undefined)
        return [
          { severity: 'Error', message: `${name} is not installed`, remedy: reinstall(facts) },
        ];
      if (covers(here['spec'], crd['spec'])) return [];
      return [
        {
          severity: 'Warning',
          message: `${name} is of another version than this command (${facts.version})`,
          remedy: reinstall(facts),
        },
      ];
    }),
};

/** Returns the version in an image's name; undefined for a digest or another tag. */
function versionIn(image: string): string | undefined {
  return /:v?(\d+\.\d+\.\d+[^@]*)/.exec(image)?.[1];
}

const silentAfter = 60;

function operatorFindings(
  facts: InstallationFacts,
  operator: InstalledWorkload,
): readonly Finding[] {
  const { namespace, name } = operator.metadata;
  const image = imageOf(operator);
  const version = versionIn(image);
  const where = `Deployment ${namespace}/${name}`;
  const troubles = rolloutTroubles({ deployment: operator, pods: [] }).map(text => `: ${text}`);
  return [
    ...((operator.status?.readyReplicas ?? 0) === 0
      ? [
          {
            severity: 'Error',
            message: `${where} has no replica that is ready${troubles.join('')}`,
            remedy: `check why: kubectl -n ${namespace} describe pods -l app.kubernetes.io/name=drydock`,
          } as const,
        ]
      : []),
    ...(version !== undefined && version !== facts.version
      ? [
          {
            severity: 'Warning',
            message: `${where} runs ${image}, and this command is ${facts.version}`,
            remedy: 'use the command of the same version, or upgrade the operator',
          } as const,
        ]
      : []),
  ];
}

const operator: Check = {
  name: 'operator',
  well: facts =>
    `${operators(facts)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      .join()} runs, and one replica leads`,
  findings: facts => {
    const [first] = operators(facts);
    if (first === undefined)
      return [
        {
          severity: 'Error',
          message: 'no operator is installed: maintenances are stored, but not carried out',
          remedy: 'drydock install --image IMAGE --apply',
        },
      ];
    const { leaderSilentFor } = facts;
    const isSilent = leaderSilentFor !== undefined && leaderSilentFor > silentAfter;
    return [
      ...operators(facts).flatMap(one => operatorFindings(facts, one)),
      ...(leaderSilentFor === undefined || isSilent
        ? [
            {
              severity: 'Error',
              message: isSilent
                ? `no replica leads: the lease was last renewed ${Math.round(leaderSilentFor)} s ago`
                : 'no replica leads: there is no lease of a leader',
              remedy: `check the log: kubectl -n ${facts.namespace} logs -l app.kubernetes.io/name=drydock`,
            } as const,
          ]
        : []),
    ];
  },
};

/** Operators that act on the same objects, by a part of their image's name. */
const others = ['node-maintenance-operator', 'machine-maintenance-operator'];

function isRunning({ kind, spec }: InstalledWorkload): boolean {
  return kind === 'DaemonSet' || (spec.replicas ?? 1) > 0;
}

const alone: Check = {
  name: 'one operator',
  well: () => 'no other operator acts on the same objects',
  findings: facts => [
    ...(operators(facts).filter(isRunning).length > 1
      ? [
          {
            severity: 'Error',
            message: `Drydock is installed ${operators(facts).length} times: ${operators(facts)
              .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
              .join(', ')}`,
            remedy:
              'drydock uninstall --namespace NAMESPACE --keep-held --apply removes one of them; then apply the other again, whose roles may have gone with it',
          } as const,
        ]
      : []),
    ...facts.workloads
      .filter(
        one =>
          !isOperator(one) && isRunning(one) && others.some(name => imageOf(one).includes(name)),
      )
      .map(
        ({ kind, metadata: { namespace, name } }): Finding => ({
          severity: 'Error',
          message: `${kind} ${namespace}/${name} acts on the same objects as Drydock`,
          remedy: `docs/migrate.md takes over from it; at the least: kubectl -n ${namespace} scale ${kind.toLowerCase()} ${name} --replicas=0`,
        }),
      ),
  ],
};

type Binding = { readonly subjects?: readonly object[]; readonly roleRef?: object };

function rulesOf(manifest: Manifest): readonly Rule[] {
  return (manifest['rules'] as readonly Rule[] | undefined) ?? [];
}

function roleFindings(facts: InstallationFacts, wanted: Manifest): readonly Finding[] {
  const here = facts.found.get(wanted);
  if (here === undefined)
    return [
      { severity: 'Error', message: `${nameOf(wanted)} is missing`, remedy: reinstall(facts) },
    ];
  const missing = missingRights(rulesOf(here), rulesOf(wanted));
  if (missing.length === 0) return [];
  const few = `${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ` and ${missing.length - 3} more` : ''}`;
  return [
    {
      severity: 'Error',
      message: `${nameOf(wanted)} lacks rights: ${few}`,
      remedy: reinstall(facts),
    },
  ];
}

function bindingFindings(facts: InstallationFacts, wanted: Manifest): readonly Finding[] {
  const here = facts.found.get(wanted);
  const { subjects = [], roleRef } = wanted as Binding;
  const bound = (here as Binding | undefined)?.subjects ?? [];
  const isBound =
    covers((here as Binding | undefined)?.roleRef, roleRef) &&
    subjects.every(one => bound.some(other => covers(other, one)));
  return isBound
    ? []
    : [
        {
          severity: 'Error',
          message: `${nameOf(wanted)} is missing, or binds somebody else`,
          remedy: reinstall(facts),
        },
      ];
}

/** Role that users leave out on purpose when no pod may be deleted past a budget. */
const optional = 'drydock-pod-deletion';

const rights: Check = {
  name: 'rights',
  well: () => 'the roles are those of this version',
  findings: facts => [
    ...wantedOf(facts, 'ClusterRole', 'Role').flatMap(one => roleFindings(facts, one)),
    ...wantedOf(facts, 'ClusterRoleBinding', 'RoleBinding')
      .filter(({ metadata }) => metadata.name !== optional)
      .flatMap(one => bindingFindings(facts, one)),
  ],
};

const policies: Check = {
  name: 'admission policies',
  well: facts =>
    `${wantedOf(facts, 'ValidatingAdmissionPolicy').length} ValidatingAdmissionPolicies are of this version`,
  findings: facts =>
    wantedOf(facts, 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding').flatMap(
      (policy): readonly Finding[] => {
        const here = facts.found.get(policy);
        if (here !== undefined && covers(here['spec'], policy['spec'])) return [];
        return [
          {
            severity: 'Warning',
            message: `${nameOf(policy)} is ${here === undefined ? 'missing' : 'of another version'}`,
            remedy: reinstall(facts),
          },
        ];
      },
    ),
};

/**
 * Clock skew in seconds: a leader that could not renew its lease for the first stops acting, and
 * after the second another one leads.
 */
const skew = { warns: leaseTimes.renewDeadlineMs / 1000, fails: leaseTimes.durationMs / 1000 };

const clocks: Check = {
  name: 'clocks',
  well: () => 'this machine and the API server agree about the time',
  findings: ({ serverAhead = 0 }) => {
    const off = Math.abs(serverAhead);
    if (off < skew.warns) return [];
    const message = `the clock of the API server is ${Math.round(off)} s ${serverAhead > 0 ? 'ahead of' : 'behind'} this machine's`;
    return [
      {
        severity: off < skew.fails ? 'Warning' : 'Error',
        message,
        remedy:
          'set the clocks by NTP, those of the control plane first: leases and windows go by them',
      },
    ];
  },
};

function isAbout(schema: FlowSchema, namespace: string): boolean {
  return (
    schema.spec.rules?.some(
      ({ subjects, resourceRules }) =>
        resourceRules?.some(
          ({ verbs, apiGroups, resources }) =>
            verbs.includes('*') && apiGroups.includes('*') && resources.includes('*'),
        ) &&
        subjects.some(
          ({ serviceAccount, group }) =>
            (serviceAccount?.namespace === namespace &&
              (serviceAccount.name === 'drydock' || serviceAccount.name === '*')) ||
            [
              'system:serviceaccounts',
              `system:serviceaccounts:${namespace}`,
              'system:authenticated',
            ].includes(group?.name ?? ''),
        ),
    ) === true
  );
}

/**
 * Returns the priority level (API Priority and Fairness) of the operator's calls: that of the
 * matching schema with the lowest precedence.
 */
function levelOf({ flowSchemas, namespace }: InstallationFacts): string | undefined {
  return flowSchemas
    .filter(schema => isAbout(schema, namespace))
    .toSorted(
      (one, other) =>
        (one.spec.matchingPrecedence ?? 1000) - (other.spec.matchingPrecedence ?? 1000),
    )[0]?.spec.priorityLevelConfiguration.name;
}

const shared = new Set(['workload-low', 'global-default', 'catch-all']);

const priority: Check = {
  name: 'API priority',
  well: facts => `the operator's calls are of priority level ${levelOf(facts) ?? 'unknown'}`,
  findings: facts => {
    const level = levelOf(facts);
    if (level === undefined || !shared.has(level) || operators(facts).length === 0) return [];
    const message = `the operator's calls are of priority level ${level}, with those of every pod: on an API server that is overloaded by them its lease is not renewed in time`;
    return [
      { severity: 'Warning', message, remedy: 'drydock install --with api-priority --apply' },
    ];
  },
};

/** All checks, in order of output. */
const checks: readonly Check[] = [
  kinds,
  operator,
  alone,
  webhook,
  rights,
  policies,
  clocks,
  priority,
];

export type CheckFlags = ConnectionFlags & { readonly output: 'text' | 'json' };

type Checked = {
  readonly name: string;
  readonly well?: string;
  readonly findings: readonly Finding[];
};

function checked(facts: InstallationFacts, { name, well, findings }: Check): Checked {
  const found = findings(facts);
  return { name, ...(found.length === 0 && { well: well(facts) }), findings: found };
}

const words: Readonly<Record<Finding['severity'], string>> = { Error: 'FAIL', Warning: 'WARN' };

/** Formats a check as columns: result, name, message; the remedy on the line below. */
function linesOf({ name, well, findings }: Checked): readonly string[] {
  const start = (word: string): string => `${word.padEnd(4)}  ${name.padEnd(18)}  `;
  if (well !== undefined) return [start('ok') + well];
  return findings.flatMap(({ severity, message, remedy }) => [
    start(words[severity]) + message,
    `${' '.repeat(26)}help: ${remedy}`,
  ]);
}

/** Returns the results of all checks. */
export function checkAll(facts: InstallationFacts): readonly Checked[] {
  return checks.map(check => checked(facts, check));
}

/**
 * `drydock check`: reads the cluster and prints what is missing or wrong, with remedies. Throws
 * when an Error is found; changes nothing.
 */
export async function check(
  flags: CheckFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  await withCluster(flags, env, async connection => {
    const facts = await gatherFacts(connection, systemClock, version());
    const all = checkAll(facts);
    if (flags.output === 'json') printText(written({ checks: all, unread: facts.unread }, 'json'));
    else for (const line of all.flatMap(linesOf)) plainOutput.line(line);
    for (const what of facts.unread) plainOutput.note(`drydock: left out: ${what}`);
    const errors = all
      .flatMap(({ findings }) => findings)
      .filter(({ severity }) => severity === 'Error').length;
    if (errors > 0)
      throw new Error(`${errors} ${errors === 1 ? 'error' : 'errors'} found; see above`);
  });
}
