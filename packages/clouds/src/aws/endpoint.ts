/**
 * Returns whether a MachineEventSource may name this endpoint. Otherwise, authors of sources could
 * have signed requests, with the session token of the operator, sent to any address, and forge
 * announcements from there. Amazon's own endpoints over https are allowed
 * (docs.aws.amazon.com/general/latest/gr/rande.html), others where the operator's flags name them.
 */
export function mayAsk(endpoint: string, allowed: readonly string[]): boolean {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  if (allowed.some(one => URL.canParse(one) && new URL(one).href === url.href)) return true;
  return (
    url.protocol === 'https:' &&
    url.port === '' &&
    /\.(amazonaws\.com|amazonaws\.com\.cn|api\.aws)$/.test(url.hostname)
  );
}
