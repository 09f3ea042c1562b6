import type { Command } from 'commander';

/** How every command finds its cluster: kubectl's flags. */
export const connectionFlags = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'kubeconfig file; otherwise KUBECONFIG, ~/.kube/config or the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig; the current one when left out');
