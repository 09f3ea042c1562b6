import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { cordon, create, getNode, nodesReady } from '../control-plane/objects/cluster.ts';
import { namespace, node } from '../control-plane/objects/manifests.ts';
import { run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { forbiddenCalls, operatorUsers } from '../operator/harness/shipped.ts';
import { olmBlock } from '../predecessors/guide.ts';
import { controllers, opm } from './controllers.ts';
import { olderCatalog, olderCsv, olderKind, olderName } from './older-operator.ts';
import { serveCatalog, serveDrydock, startOlm, subscribe, untilCsv } from './olm-0.ts';
import { csvName, fileOf, home, makeRelease } from './released.ts';
import { type Hook, webhookConfigurations, webhooksOf } from './seen.ts';
import { leftOutOf, validators } from './validators.ts';

/**
 * An older operator that OLM has installed is replaced by the one of the bundle, as docs/migrate.md
 * says; then the operator works with what OLM has made for it.
 */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut =
  started.kind === 'left-out'
    ? `control plane left out: ${started.why}`
    : leftOutOf(validators, opm, controllers);
const external =
  started.kind === 'started' &&
  started.external &&
  'it installs OLM: it needs a control plane of its own';
const controlPlane = started as ControlPlane;

const old = 'openshift-workload-availability';
const objects = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances';

describe('replacing an operator that OLM has installed', {
  skip: leftOut || external,
  timeout: 300_000,
}, () => {
  const { api, folder } = controlPlane;
  const startOperator = operatorsOn(controlPlane);
  const running: Running[] = [];

  before(async () => {
    await makeRelease();
    await create(api, namespace(old), ...['n1', 'n2', 'n3'].map(name => node(name)), olderKind);
    await nodesReady(api, ['n1', 'n2', 'n3']);
    running.push(...(await startOlm(controlPlane)));
    // As the older operator leaves it. It is older than its webhook, which nothing serves here.
    await api.post(objects, {
      apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
      kind: 'NodeMaintenance',
      metadata: { name: 'old', finalizers: ['foregroundDeleteNodeMaintenance'] },
      spec: { nodeName: 'n1' },
    });
    await api.patch(`${objects}/old/status`, {
      status: { phase: 'Succeeded', drainProgress: 100 },
    });
    await cordon(api, 'n1');
    running.push(await serveCatalog(controlPlane, olderName, olderCatalog));
    await subscribe(api, olderName, old);
    await untilCsv(controlPlane, { name: olderCsv, namespace: old, phase: 'Succeeded' }, running);
    const applied = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-f',
      fileOf('olm-prerequisites.yaml'),
    ]);
    assert.equal(applied.code, 0, applied.stderr);
    running.push(await serveDrydock(controlPlane));
  });
  after(() => controlPlane.stop());

  test('OLM does not let both serve the kind', async () => {
    assert.deepEqual(
      (await webhooksOf(api)).map(({ name }) => name.startsWith('vnodemaintenance.kb.io')),
      [true],
    );
    await subscribe(api, 'drydock', home, [home]);
    await untilCsv(
      controlPlane,
      {
        name: csvName,
        namespace: home,
        phase: 'Failed',
        reason: 'InterOperatorGroupOwnerConflict',
      },
      running,
    );
  });

  test('the steps for OLM take the older operator and its webhook away; the kind and its objects stay, and Drydock succeeds', async () => {
    const script = olmBlock('medik8s 0.16 and newer');
    const { code, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      environment: {
        KUBECONFIG: controlPlane.kubeconfig,
        OLD: old,
        PATH: `${join(controlPlane.kubectlPath, '..')}:${process.env['PATH'] ?? ''}`,
      },
    });
    assert.equal(code, 0, stderr);
    await untilCsv(controlPlane, { name: csvName, namespace: home, phase: 'Succeeded' }, running);
    const deployment = `/apis/apps/v1/namespaces/${old}/deployments/${olderName}-controller-manager`;
    await until(
      'the older operator to be gone',
      async () => (await api.call('GET', deployment)).status === 404,
    );
    assert.equal((await api.call('GET', `${objects}/old`)).status, 200);
  });

  /**
   * As an API server calls it: by the name of the Service, trusting the authority of the
   * configuration alone.
   */
  const call = (port: number, { clientConfig }: Hook): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'u',
        kind: { group: 'drydock.dev', version: 'v1alpha1', kind: 'Maintenance' },
        resource: { group: 'drydock.dev', version: 'v1alpha1', resource: 'maintenances' },
        operation: 'CREATE',
        userInfo: { username: 'admin' },
        object: maintenance('n2'),
      },
    };
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        path: clientConfig.service.path,
        method: 'POST',
        servername: `drydock-service.${home}.svc`,
        ca: Buffer.from(clientConfig.caBundle ?? '', 'base64'),
        headers: { 'content-type': 'application/json' },
      },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve(text)).on('error', reject);
      },
    );
    asked.on('error', reject).end(JSON.stringify(review));
    return promise;
  };

  test('the operator works with the rights and the certificate that OLM has made, and takes the object over', async () => {
    const { data } = await api.get<{ readonly data: Readonly<Record<string, string>> }>(
      `/api/v1/namespaces/${home}/secrets/drydock-service-cert`,
    );
    const certificates = join(folder, 'from-olm');
    mkdirSync(certificates);
    for (const file of ['tls.crt', 'tls.key'])
      writeFileSync(join(certificates, file), Buffer.from(data[file] ?? '', 'base64'));
    // OLM would put its webhooks back; the addresses of their Services lead nowhere here.
    await Promise.all(running.map(one => one.stop()));
    const hook = (await webhooksOf(api)).find(({ name }) =>
      name.startsWith('vmaintenance.drydock.dev'),
    );
    assert.ok(hook);
    await api.delete(webhookConfigurations);
    const [port = 0] = await freePorts(1);
    const operator = await startOperator({
      flags: ['--leader-elect', `--webhook-port=${port}`, `--webhook-cert-dir=${certificates}`],
    });
    assert.match(await call(port, hook), /"allowed":true/);
    await until('the object to be taken over', async () => {
      const { metadata } = await api.get<{
        readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      }>(`${objects}/old`);
      return metadata.annotations?.['drydock.dev/claim'] === 'taken-over';
    });
    await create(api, maintenance('n2'));
    await untilMaintenance(api, 'n2', 'Drained');
    assert.equal((await getNode(api, 'n2')).spec.unschedulable, true);
    await remove(api, maintenancePath('n2'));
    await operator.running.stop();
    assert.deepEqual(
      await forbiddenCalls(controlPlane),
      [],
      'everything that it asked for is allowed by what OLM and the file before it have made',
    );
  });
});
