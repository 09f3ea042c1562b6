export type StatusFlags = { readonly kubeconfig?: string; readonly context?: string; readonly output: 'table' | 'json' };
export const status = async (_node: string | undefined, _flags: StatusFlags, _env: unknown): Promise<void> => {};
