/** Remedies for Nova's reasons; the first match applies. No other code parses the reasons. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /no ?valid ?host/i,
    'make room for it on an enabled host that fits it (capacity, availability zone, server group, traits), or stop or delete it',
  ],
  [
    /is unavailable at this time|not available|could not be found/i,
    'start nova-compute on the hosts that are down',
  ],
  [/policy doesn't allow|forbidden/i, 'give the user of Drydock the role admin'],
  [
    /shared storage|block migration/i,
    "make the hosts' storage the same, or stop it so that it is moved cold",
  ],
  [/was aborted/i, 'nothing, if it was aborted by mistake: it is tried again'],
];

/** Returns the remedy for people. */
export function remedyFor(reason: string): string {
  return (
    remedies.find(([pattern]) => pattern.test(reason))?.[1] ??
    'see the logs of nova-compute on both hosts, and `openstack server event list`'
  );
}
