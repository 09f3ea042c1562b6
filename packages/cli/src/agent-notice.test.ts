import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { crdTexts } from '@drydock/apis/crds';
import { drainedForAnnotation } from '@drydock/core/machine';
import { makeEvent } from '@drydock/core/testing';
import { createCluster, inProcess, load, part, seeded } from '@drydock/kube-sim';
import { VirtualClock } from '@drydock/utils';
import { parse } from 'yaml';
import { AgentNotice } from './agent.ts';

const none = { source: 'agent', looked: new Set<string>(), unknown: [] };

test('the notice is stored when something has changed, and asked for what is noted on it without that', async () => {
  const clock = new VirtualClock();
  const cluster = createCluster({ clock, random: seeded(1) });
  load(
    cluster.registry,
    crdTexts(['drydock.dev']).map(text => parse(text) as JsonObject),
  );
  const notice = new AgentNotice({
    api: inProcess(cluster, { userAgent: 'agent' }),
    clock,
    nodeName: 'n1',
    provider: 'azure',
  });
  const stored = () => cluster.registry.store.get('nodenotices.drydock.dev', '', 'n1');
  const observed = (): unknown => part(stored() ?? {}, 'spec')['observedTime'];
  const event = makeEvent();
  await notice.publish({ instance: 'i-1', events: [event], ...none });
  const first = stored();
  assert.ok(first !== undefined);
  for (let round = 0; round < 6; round += 1) {
    await clock.advance(10_000);
    assert.deepEqual(await notice.publish({ instance: 'i-1', events: [event], ...none }), ['']);
  }
  assert.equal(
    stored()?.metadata.resourceVersion,
    first.metadata.resourceVersion,
    'six looks at what is noted, and nothing is stored',
  );
  cluster.registry.store.put('nodenotices.drydock.dev', {
    ...first,
    metadata: { ...first.metadata, annotations: { [drainedForAnnotation]: event.id } },
  });
  assert.deepEqual(await notice.publish({ instance: 'i-1', events: [event], ...none }), [event.id]);
  const before = observed();
  await clock.advance(10_000);
  await notice.publish({ instance: 'i-1', events: [], ...none });
  assert.notEqual(observed(), before, 'the time is that of the change');
});
