import { isObject } from './json.ts';

/** What a metav1.Status in an answer says, for people; the code where it says nothing. */
export const saidBy = ({ status, body }: { readonly status: number; readonly body: unknown }): string => {
  const text = isObject(body) && typeof body['message'] === 'string' ? body['message'] : typeof body === 'string' ? body : '';
  return text === '' ? `the API server responded with ${status}` : text;
};

/** The API server says of the object with this name that it is not there: a path that is not served, or a proxy on the way, says nothing of it. */
export const isMissing = (name: string, { status, body }: { readonly status: number; readonly body: unknown }): boolean => {
  const details = isObject(body) ? body['details'] : undefined;
  return status === 404 && isObject(details) && details['name'] === name;
};
