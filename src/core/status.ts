import { isObject } from './json.ts';

/** What a metav1.Status in an answer says, for people; the code where it says nothing. */
export const saidBy = ({ status, body }: { readonly status: number; readonly body: unknown }): string => {
  const text = isObject(body) && typeof body['message'] === 'string' ? body['message'] : typeof body === 'string' ? body : '';
  return text === '' ? `the API server responded with ${status}` : text;
};
