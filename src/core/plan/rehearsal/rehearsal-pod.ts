import type { JsonObject } from '../../json.ts';
import type { Rehearse } from './rehearsal.ts';

/** In the namespace of the work; its rights are those of the shipped roles for viewers. */
const serviceAccount = 'drydock-rehearsal';

const durations = ({ workSeconds, rebootSeconds }: Rehearse): readonly string[] => [
  ...(workSeconds === undefined ? [] : [`--work-time=${workSeconds}s`]),
  ...(rebootSeconds === undefined ? [] : [`--reboot-time=${rebootSeconds}s`]),
];

/** The pod that rehearses a plan: it reads the cluster, and its answer is its termination message, so that it needs no right to write anything. */
export const rehearsalPodSpec = (image: string, plan: string, rehearse: Rehearse): JsonObject => ({
  serviceAccountName: serviceAccount,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: 5,
  activeDeadlineSeconds: rehearse.timeoutSeconds,
  securityContext: { runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'rehearse',
      image,
      args: ['plan', 'rehearse', plan, '--summary-file=/dev/termination-log', ...durations(rehearse)],
      resources: { requests: { cpu: '100m', memory: '256Mi' } },
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    },
  ],
});
