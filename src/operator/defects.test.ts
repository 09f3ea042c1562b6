import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Defects } from './defects.ts';
import { Lines, Tallies } from './testing/fakes.ts';

test('a defect is logged once for each object and counted each time, until a thousand others have come', () => {
  const [log, meter] = [new Lines(), new Tallies()];
  const defects = new Defects({ log, meter });
  const tell = (object: number): void => void defects.tell('Node', `n${object}`, new Error('broken'));
  for (const object of [0, 1, 0, 1]) tell(object);
  assert.deepEqual([log.lines.length, meter.panics.length], [2, 4]);
  for (let object = 2; object < 1000; object += 1) tell(object);
  tell(0);
  assert.equal(log.lines.length, 1000);
  tell(1000);
  tell(0);
  assert.equal(log.lines.length, 1002, 'then all of them are forgotten, and told anew');
});
