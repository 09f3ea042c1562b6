import { signal } from '@preact/signals';
import { isView } from './model/address.ts';

/** The token of the printed link: it comes in the fragment, which is sent to nobody, and does not stay in the address bar. */

const place = 'drydock-token';

/** Empty when the dashboard was opened without one. */
export const token = signal(sessionStorage.getItem(place) ?? '');

/** A fragment with a name in it says what is looked at. */
const take = (): void => {
  const given = location.hash.slice(1);
  if (given === '' || isView(given)) return;
  sessionStorage.setItem(place, given);
  history.replaceState(undefined, '', location.pathname);
  token.value = given;
};

/** Takes the token of this address, and of every link that is opened over it. */
export const takeToken = (): void => {
  take();
  window.addEventListener('hashchange', take);
};

/** What to send along. */
export const credentials = (): Readonly<Record<string, string>> => (token.value === '' ? {} : { authorization: `Bearer ${token.value}` });
