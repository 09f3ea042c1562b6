import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matches, parseSelector } from './selector.ts';

function fits(text: string, labels: Readonly<Record<string, string>>): boolean {
  const selector = parseSelector(text);
  assert.ok(selector !== undefined, text);
  return matches(selector, labels);
}

test('a selector of the command line picks what it picks in kubectl', () => {
  const web = { app: 'web', tier: 'front', 'kubevirt.io/x': 'a.b' };
  for (const text of [
    'app=web',
    'app==web',
    'app = web',
    'app in (web,api)',
    'app in (web, api),tier=front',
    'app notin (api)',
    'none notin (api)',
    'none!=x',
    'app',
    '!none',
    '! none',
    'kubevirt.io/x=a.b',
    '',
    'app=web,tier!=back,!none',
  ]) {
    assert.equal(fits(text, web), true, text);
  }
  for (const text of [
    'app=api',
    'app!=web',
    'app in (api)',
    'app notin (web)',
    'none',
    '!app',
    'none=x',
    'app=web,none',
    'app=',
  ]) {
    assert.equal(fits(text, web), false, text);
  }
  assert.equal(fits('empty=', { empty: '' }), true);
  assert.equal(fits('empty in (,x)', { empty: '' }), true);
});

test('what is no selector is none', () => {
  for (const text of [
    '=',
    '==x',
    'a=b=c',
    'a b',
    'a in x',
    'a in (x',
    'a in (b,-c)',
    'a=b,-c=d',
    ',',
    'a=b,',
    ',a=b',
    'a=b,,c=d',
    'a>1',
    'x/y/z=1',
    '-a',
    '!',
    'a=!',
  ]) {
    assert.equal(parseSelector(text), undefined, text);
  }
});
