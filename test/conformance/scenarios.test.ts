import { after, describe, test } from 'node:test';
import { chapters } from './scenarios/chapters.ts';
import { startSides } from './scenarios/sides.ts';

const sides = await startSides();
const skip = sides.kind === 'left-out' ? `control plane left out: ${sides.why}` : false;

describe('the embedded cluster lives as a real one', {
  skip,
  timeout: 900_000,
  concurrency: 12,
}, () => {
  after(async () => {
    if (sides.kind === 'started') await sides.stop();
  });
  for (const [chapter, scenarios] of Object.entries(chapters)) {
    for (const [index, one] of scenarios.entries()) {
      test(`${chapter}: ${one.name}`, async () => {
        if (sides.kind === 'started')
          await sides.run(one, `${chapter.replaceAll(' ', '-')}-${index}`);
      });
    }
  }
});
