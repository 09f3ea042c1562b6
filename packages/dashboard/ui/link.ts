import { signal } from '@preact/signals';
import { isView } from './model/address.ts';

/**
 * Token of the printed link: passed in the fragment, which browsers do not send, and removed from
 * the address bar.
 */

const place = 'drydock-token';

/** Token; empty when the dashboard was opened without one. */
export const token = signal(sessionStorage.getItem(place) ?? '');

/** Stores a token from the fragment; a fragment with a name in it is a view. */
function take(): void {
  const given = location.hash.slice(1);
  if (given === '' || isView(given)) return;
  sessionStorage.setItem(place, given);
  history.replaceState(undefined, '', location.pathname);
  token.value = given;
}

/** Takes the token of this address, and of every link that is opened in this page. */
export function takeToken(): void {
  take();
  window.addEventListener('hashchange', take);
}

/** Returns the headers with the credentials. */
export function credentials(): Readonly<Record<string, string>> {
  return token.value === '' ? {} : { authorization: `Bearer ${token.value}` };
}
