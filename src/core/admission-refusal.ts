/** A call that an admission policy or webhook keeps from being made, whatever code that has. */
export type AdmissionRefusal = {
  /** `denied`: it said no. `broken`: a webhook that fails closed did not answer as it should. */
  readonly kind: 'denied' | 'broken';
  /** Who it was: `webhook W`, `policy P`, `policy P (binding B)`. */
  readonly by: string;
  /** The name of the webhook; missing for policies. */
  readonly webhook?: string;
  /** Its own words, or what went wrong with it; may be empty. */
  readonly said: string;
  /** All of it in a sentence that names who it was. */
  readonly message: string;
};

type Form = {
  readonly pattern: RegExp;
  readonly kind: AdmissionRefusal['kind'];
  readonly what: 'webhook' | 'policy';
};

/**
 * What the API server says of admission (apiserver pkg/admission/plugin/webhook/{errors,mutating,validating}, plugin/policy/{validating,mutating} of 1.30 to 1.37; from the release after,
 * denials of webhooks begin as those of policies do). Who spoke comes first, in words of the server alone, and names know no quotes:
 * nothing that somebody says after it makes it somebody else.
 */
const forms: readonly Form[] = [
  { pattern: /^admission webhook "([^"]*)" denied the request(?:: | )()(.*)$/s, kind: 'denied', what: 'webhook' },
  { pattern: /^ValidatingAdmissionPolicy '([^']*)'(?: with binding '([^']*)')? denied request: (.*)$/s, kind: 'denied', what: 'policy' },
  { pattern: /^policy '([^']*)' with binding '([^']*)' denied request: (.*)$/s, kind: 'denied', what: 'policy' },
  { pattern: /^policy "([^"]*)" denied request: ()(.*)$/s, kind: 'denied', what: 'policy' },
  { pattern: /^failed calling webhook "([^"]*)"(?:: |; )()(.*)$/s, kind: 'broken', what: 'webhook' },
  {
    pattern: /^admission webhook "([^"]*)" ()((?:attempted to modify the object|does not support dry run).*)$/s,
    kind: 'broken',
    what: 'webhook',
  },
];

/** What the API server may put before it: the object that is asked for, or that the fault is not the caller's. */
const opening = /^(?:Internal error occurred: |[^\s"]+ "[^"]*" is forbidden: )/;

const readAs = ({ pattern, kind, what }: Form, text: string): AdmissionRefusal | undefined => {
  const [, name, binding, said = ''] = pattern.exec(text) ?? [];
  if (name === undefined) return undefined;
  const by = `${what} ${name}${binding === undefined || binding === '' ? '' : ` (binding ${binding})`}`;
  return {
    kind,
    by,
    ...(what === 'webhook' && { webhook: name }),
    said,
    message: kind === 'broken' ? `${by} does not answer: ${said}` : text,
  };
};

/** Reads what the API server said to a call: who in admission kept it from being made; undefined where nobody did. */
export const admissionRefusal = (message: string): AdmissionRefusal | undefined => {
  const text = message.replace(opening, '');
  for (const form of forms) {
    const read = readAs(form, text);
    if (read !== undefined) return read;
  }
  return undefined;
};
