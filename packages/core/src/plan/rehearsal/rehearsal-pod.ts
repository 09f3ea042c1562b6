import type { JsonObject } from '@drydock/apimachinery';
import type { Rehearse } from './rehearsal.ts';

/**
 * Name of the service account in the namespace of the work; it has the rights of the shipped roles
 * for viewers.
 */
const serviceAccount = 'drydock-rehearsal';

function durations({ workSeconds, rebootSeconds }: Rehearse): readonly string[] {
  return [
    ...(workSeconds === undefined ? [] : [`--work-time=${workSeconds}s`]),
    ...(rebootSeconds === undefined ? [] : [`--reboot-time=${rebootSeconds}s`]),
  ];
}

/**
 * Returns the pod that rehearses a plan: it reads the cluster, and its result is its termination
 * message, so that it needs no right to write anything. It runs where the operator's own pods may
 * run (`placement`): an attacker on its node has its token, which lists the pods of the whole
 * cluster.
 */
export function rehearsalPodSpec(
  image: string,
  plan: string,
  rehearse: Rehearse,
  placement: JsonObject = {},
): JsonObject {
  return {
    ...placement,
    serviceAccountName: serviceAccount,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 5,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'rehearse',
        image,
        args: [
          'plan',
          'rehearse',
          plan,
          '--summary-file=/dev/termination-log',
          ...durations(rehearse),
        ],
        // A third more than the largest measured rehearsal takes (docs/rehearse.md): beyond that
        // limit this pod is killed, and not another one of its node.
        resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '4Gi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  };
}
