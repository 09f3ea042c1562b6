import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { webhookConfiguration, webhooks } from '@drydock/apis/admission-rules';
import type {
  ApiCall,
  ApiResponse,
  CachedObject,
  Watcher,
  WatchHandler,
} from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog, ScriptedApi } from '../../testing/fakes.ts';
import { bundlePatch, CaBundleInjector } from './ca-bundle-injector.ts';

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
function fresh(): JsonObject {
  const made = webhookConfiguration(path => ({
    service: { name: 's', namespace: 'n', path, port: 443 },
  }));
  return { ...made, metadata: { name: 'drydock', uid: 'u', resourceVersion: '7' } };
}
function webhooksOf(configuration: JsonObject): readonly JsonObject[] {
  return configuration['webhooks'] as readonly JsonObject[];
}
function bundlesOf(configuration: JsonObject): readonly unknown[] {
  return webhooksOf(configuration).map(
    ({ clientConfig }) => (clientConfig as JsonObject)['caBundle'],
  );
}

/** The patch, applied by hand: what the API server would have afterwards. */
function patched(configuration: JsonObject, patch: readonly JsonObject[]): JsonObject {
  const next = structuredClone(configuration) as {
    metadata: { resourceVersion: string };
    webhooks: { clientConfig: Record<string, unknown> }[];
  };
  for (const { op, path, value } of patch as readonly {
    readonly op: string;
    readonly path: string;
    readonly value: unknown;
  }[]) {
    if (op === 'test')
      assert.deepEqual([path, value], ['/metadata/resourceVersion', next.metadata.resourceVersion]);
    else {
      const [, index] =
        /^\/webhooks\/(\d+)\/clientConfig\/caBundle$/.exec(path) ?? assert.fail(path);
      const webhook = next.webhooks[Number(index)] ?? assert.fail(`no webhook ${index}`);
      webhook.clientConfig['caBundle'] = value;
    }
  }
  next.metadata.resourceVersion = String(Number(next.metadata.resourceVersion) + 1);
  return next as unknown as JsonObject;
}

describe('the patch', () => {
  test('puts the bundle into every webhook that has none or another, guarded by the version', () => {
    const all = patched(fresh(), bundlePatch(fresh(), 'CA') ?? []);
    assert.deepEqual(
      bundlesOf(all),
      webhooks().map(() => base64('CA')),
    );
    const one = structuredClone(all) as unknown as {
      webhooks: { clientConfig: Record<string, unknown> }[];
    };
    if (one.webhooks[1] !== undefined) one.webhooks[1].clientConfig['caBundle'] = 'other';
    assert.deepEqual(bundlePatch(one as unknown as JsonObject, 'CA'), [
      { op: 'test', path: '/metadata/resourceVersion', value: '8' },
      { op: 'add', path: '/webhooks/1/clientConfig/caBundle', value: base64('CA') },
    ]);
  });

  test('is none when the bundle is everywhere, or there is no webhook', () => {
    assert.equal(bundlePatch(patched(fresh(), bundlePatch(fresh(), 'CA') ?? []), 'CA'), undefined);
    assert.equal(bundlePatch({ metadata: { name: 'drydock' } }, 'CA'), undefined);
  });
});

/** A configuration on a server that can be changed behind the keeper's back. */
class Scene {
  readonly clock = new VirtualClock();
  readonly log = new FakeLog();
  readonly over = new AbortController();
  stored: JsonObject | undefined = fresh();
  refuse: ApiResponse | undefined;
  /** Runs before a patch is applied. */
  meanwhile: () => void = () => {};
  followed: readonly string[] = [];
  readonly #sinks: WatchHandler<CachedObject>[] = [];
  readonly api = new ScriptedApi(call => this.#response(call));
  readonly watcher: Watcher = {
    watch: (collection, _project, sink, signal) => {
      this.followed = [...this.followed, `${collection.path}?${collection.fieldSelector}`];
      this.#sinks.push(sink);
      return new Promise(resolve => signal.addEventListener('abort', () => resolve()));
    },
  };
  readonly injector = new CaBundleInjector(
    {
      api: this.api,
      watcher: this.watcher,
      clock: this.clock,
      log: this.log,
      defects: new PanicHandler(this),
      configuration: 'drydock',
    },
    this.over.signal,
  );

  /** Somebody applies the manifest again. */
  wipe(): void {
    this.stored = fresh();
    for (const sink of this.#sinks) sink.synced();
  }

  get bundles(): readonly unknown[] {
    return [...new Set(this.stored === undefined ? [] : bundlesOf(this.stored))];
  }

  async end(): Promise<void> {
    this.over.abort();
    await this.injector.done();
  }

  #response({ method, body }: ApiCall): ApiResponse {
    if (this.refuse !== undefined) return this.refuse;
    if (this.stored === undefined) return { status: 404, headers: {}, body: {} };
    if (method === 'GET') return { status: 200, headers: {}, body: this.stored };
    this.meanwhile();
    const patch = body as readonly JsonObject[];
    if ((this.stored['metadata'] as JsonObject)['resourceVersion'] !== patch[0]?.['value'])
      return { status: 422, headers: {}, body: {} };
    this.stored = patched(this.stored, patch);
    return { status: 200, headers: {}, body: this.stored };
  }
}

describe('the bundle', () => {
  test('is written once, into our configuration alone, and nothing is asked before there is one', async () => {
    const scene = new Scene();
    await scene.clock.advance(60_000);
    assert.deepEqual(scene.api.calls, []);
    scene.injector.trust('CA');
    await scene.clock.advance(100_000);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    assert.equal(scene.api.calls.filter(({ method }) => method === 'PATCH').length, 1);
    assert.deepEqual(scene.followed, [
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?metadata.name=drydock',
    ]);
    await scene.end();
  });

  test('is back at once when somebody wipes it, and follows a new authority', async () => {
    const scene = new Scene();
    scene.injector.trust('CA');
    await scene.clock.advance(0);
    scene.wipe();
    await scene.clock.advance(0);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    scene.injector.trust('CA2');
    await scene.clock.advance(0);
    assert.deepEqual(scene.bundles, [base64('CA2')]);
    await scene.end();
  });

  test('is written after a lost race', async () => {
    const scene = new Scene();
    scene.meanwhile = () => {
      scene.meanwhile = () => {};
      scene.stored = { ...scene.stored, metadata: { name: 'drydock', resourceVersion: '70' } };
    };
    scene.injector.trust('CA');
    await scene.clock.advance(3000);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    assert.deepEqual(scene.log.of('warn'), []);
    await scene.end();
  });

  test('waits for a configuration that is not there yet', async () => {
    const scene = new Scene();
    scene.stored = undefined;
    scene.injector.trust('CA');
    await scene.clock.advance(1000);
    scene.wipe();
    await scene.clock.advance(0);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    assert.deepEqual(scene.log.of('warn'), []);
    await scene.end();
  });

  test('says once that no configuration has the name, where none comes', async () => {
    const scene = new Scene();
    scene.stored = undefined;
    scene.injector.trust('CA');
    await scene.clock.advance(100_000);
    assert.equal(scene.log.of('warn').length, 1);
    assert.match(
      scene.log.of('warn')[0] ?? '',
      /no ValidatingWebhookConfiguration has this name.*--webhook-configuration-name/,
    );
    scene.wipe();
    await scene.clock.advance(0);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    await scene.end();
  });

  test('that somebody wipes seven times in a row is back at once each time', async () => {
    const scene = new Scene();
    scene.injector.trust('CA');
    for (let time = 0; time < 7; time += 1) {
      await scene.clock.advance(1000);
      scene.wipe();
      await scene.clock.advance(0);
      assert.deepEqual(scene.bundles, [base64('CA')]);
    }
    await scene.end();
  });

  test('is no war with another writer: it is put back ever more slowly, that is said once with who it is, and when he is gone it is back at once again', async () => {
    const scene = new Scene();
    const fields = {
      'f:webhooks': { 'k:{"name":"x"}': { 'f:clientConfig': { 'f:caBundle': {} } } },
    };
    let others = true;
    const injectsOther = (): void => {
      if (!others) return;
      scene.wipe();
      scene.stored = {
        ...scene.stored,
        metadata: {
          name: 'drydock',
          resourceVersion: '7',
          managedFields: [{ manager: 'cert-manager-cainjector', fieldsV1: fields }],
        },
      };
    };
    scene.injector.trust('CA');
    const patches = (): number => scene.api.calls.filter(({ method }) => method === 'PATCH').length;
    for (let seconds = 0; seconds < 600; seconds += 0.5) {
      await scene.clock.advance(500);
      injectsOther();
    }
    assert.ok(patches() < 30, `${patches()} writes in ten minutes`);
    assert.equal(scene.log.of('warn').length, 1, scene.log.of('warn').join());
    assert.match(JSON.stringify(scene.log), /cert-manager-cainjector/);
    others = false;
    await scene.clock.advance(700_000);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    scene.wipe();
    await scene.clock.advance(0);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    await scene.end();
  });

  test('that may not be written is said once, and tried again', async () => {
    const scene = new Scene();
    scene.refuse = { status: 403, headers: {}, body: { message: 'forbidden' } };
    scene.injector.trust('CA');
    await scene.clock.advance(20_000);
    assert.deepEqual(scene.log.of('warn'), ['failed to inject caBundle']);
    scene.refuse = undefined;
    await scene.clock.advance(2000);
    assert.deepEqual(scene.bundles, [base64('CA')]);
    await scene.end();
  });
});
