import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pathSegment } from './path-segment.ts';

test('any text is one segment, and the server reads it as it is, with U+FFFD for what is no character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '\ud800', '\udfff'),
      (text, half) => {
        const segment = pathSegment(`${text}${half}`);
        assert.doesNotMatch(segment, /[/?#\s]/);
        assert.equal(decodeURIComponent(segment), `${text}${half}`.toWellFormed());
      },
    ),
  );
});
