/** A call that an admission policy or webhook has refused, with any status code. */
export type AdmissionRefusal = {
  /**
   * Kind of the refusal. `denied`: by decision. `broken`: a webhook that fails closed did not
   * respond properly.
   */
  readonly kind: 'denied' | 'broken';
  /** Author of the refusal: `webhook W`, `policy P`, `policy P (binding B)`. */
  readonly by: string;
  /** Name of the webhook; missing for policies. */
  readonly webhook?: string;
  /** Text of the author, or the error of the call; may be empty. */
  readonly detail: string;
  /** Whole refusal in a sentence that names its author. */
  readonly message: string;
};

type Form = {
  readonly pattern: RegExp;
  readonly kind: AdmissionRefusal['kind'];
  readonly what: 'webhook' | 'policy';
};

/**
 * Messages of the API server about admission (apiserver
 * pkg/admission/plugin/webhook/{errors,mutating,validating}, plugin/policy/{validating,mutating} of
 * 1.30 to 1.37; from the release after, denials of webhooks begin as those of policies do). The
 * author comes first, in words of the server alone, and names contain no quotes: no text of the
 * author can change who it is.
 */
const forms: readonly Form[] = [
  {
    pattern: /^admission webhook "([^"]*)" denied the request(?:: | )()(.*)$/s,
    kind: 'denied',
    what: 'webhook',
  },
  {
    pattern:
      /^ValidatingAdmissionPolicy '([^']*)'(?: with binding '([^']*)')? denied request: (.*)$/s,
    kind: 'denied',
    what: 'policy',
  },
  {
    pattern: /^policy '([^']*)' with binding '([^']*)' denied request: (.*)$/s,
    kind: 'denied',
    what: 'policy',
  },
  { pattern: /^policy "([^"]*)" denied request: ()(.*)$/s, kind: 'denied', what: 'policy' },
  {
    pattern: /^failed calling webhook "([^"]*)"(?:: |; )()(.*)$/s,
    kind: 'broken',
    what: 'webhook',
  },
  {
    pattern:
      /^admission webhook "([^"]*)" ()((?:attempted to modify the object|does not support dry run).*)$/s,
    kind: 'broken',
    what: 'webhook',
  },
];

/**
 * Prefix that the API server may add: the requested object, or that the fault is not the caller's.
 */
const opening = /^(?:Internal error occurred: |[^\s"]+ "[^"]*" is forbidden: )/;

function readAs({ pattern, kind, what }: Form, text: string): AdmissionRefusal | undefined {
  const [, name, binding, detail = ''] = pattern.exec(text) ?? [];
  if (name === undefined) return undefined;
  const by = `${what} ${name}${binding === undefined || binding === '' ? '' : ` (binding ${binding})`}`;
  return {
    kind,
    by,
    ...(what === 'webhook' && { webhook: name }),
    detail,
    message: kind === 'broken' ? `${by} does not answer: ${detail}` : text,
  };
}

/**
 * Reads the API server's message to a call: the admission plugin that refused it; undefined if none
 * did.
 */
export function admissionRefusal(message: string): AdmissionRefusal | undefined {
  const text = message.replace(opening, '');
  for (const form of forms) {
    const read = readAs(form, text);
    if (read !== undefined) return read;
  }
  return undefined;
}
