import type { JsonObject } from '@drydock/apimachinery';

/**
 * Returns the pod that reboots its node: as root among the processes of the node, without a single
 * capability, because the kernel lets root signal root. It signals systemd, the first process, to
 * reboot (SIGRTMIN+5, systemd(1)); AppArmor and SELinux forbid that to ordinary containers.
 */
export function rebootPodSpec(image: string): JsonObject {
  return {
    hostPID: true,
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [
      {
        name: 'reboot',
        image,
        args: ['reboot-node'],
        securityContext: {
          runAsUser: 0,
          runAsGroup: 0,
          runAsNonRoot: false,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
          appArmorProfile: { type: 'Unconfined' },
          seLinuxOptions: { type: 'spc_t' },
        },
      },
    ],
  };
}
