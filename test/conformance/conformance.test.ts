import { after, describe, test } from 'node:test';
import { startBoth } from './both.ts';
import { applies } from './cases/apply.ts';
import { custom } from './cases/custom.ts';
import { deletion } from './cases/deletion.ts';
import { evictions } from './cases/evictions.ts';
import { lists } from './cases/lists.ts';
import { objects } from './cases/objects.ts';
import { patches } from './cases/patches.ts';
import { policies } from './cases/policies.ts';
import { protobuf } from './cases/protobuf.ts';
import { protocol } from './cases/protocol.ts';
import { races } from './cases/races.ts';
import { roles } from './cases/roles.ts';
import { validation } from './cases/validation.ts';
import { watches } from './cases/watches.ts';
import { webhooks } from './cases/webhooks.ts';

const both = await startBoth();
const skip = both.kind === 'left-out' ? `control plane left out: ${both.why}` : false;

const chapters = {
  custom,
  applies,
  protocol,
  objects,
  lists,
  watches,
  patches,
  deletion,
  evictions,
  validation,
  races,
  roles,
  policies,
  webhooks,
  protobuf,
};

describe('the embedded API server answers as the real one', {
  skip,
  timeout: 120_000,
  concurrency: 8,
}, () => {
  after(async () => {
    if (both.kind === 'started') await both.stop();
  });
  for (const [chapter, cases] of Object.entries(chapters)) {
    describe(chapter, { concurrency: 8 }, () => {
      for (const [index, one] of cases.entries()) {
        test(one.name, async () => {
          if (both.kind === 'started') await both.run(one, `${chapter}-${index}`);
        });
      }
    });
  }
});
