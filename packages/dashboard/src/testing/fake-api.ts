import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';

/** Answers everything with one status, and keeps what it was asked. */
export function fakeApi(status: number, body: unknown = {}): Api & { readonly calls: ApiCall[] } {
  const calls: ApiCall[] = [];
  return {
    calls,
    call: async (call): Promise<ApiResponse> => {
      calls.push(call);
      return { status, headers: {}, body };
    },
  };
}
