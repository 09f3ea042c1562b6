import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpResponse } from '@drydock/utils';
import { discover } from './client.ts';
import { makeHarness, type Tap } from './testing/harness.ts';

const project = '6f70656e737461636b20342065766572';

/**
 * Version documents as Nova writes them (nova/api/openstack/compute/versions.py, recorded from a
 * Nova of 2024.1), with the host that Nova takes for its own.
 */
function legacy(href: string, status = 'SUPPORTED') {
  return {
    id: 'v2.0',
    status,
    version: '',
    min_version: '',
    updated: '2011-01-21T11:33:21Z',
    links: [{ rel: 'self', href }],
  };
}
function current(href: string, over: object = {}) {
  return {
    id: 'v2.1',
    status: 'CURRENT',
    version: '2.96',
    min_version: '2.1',
    updated: '2013-07-23T11:33:21Z',
    links: [{ rel: 'self', href }],
    ...over,
  };
}

type Answers = Readonly<Record<string, readonly [status: number, body: unknown]>>;

/** A Nova at `root`, which believes to be at `self`. */
function novaAt(root: string, self = root): Answers {
  return {
    [`${root}/`]: [200, { versions: [legacy(`${self}/v2/`), current(`${self}/v2.1/`)] }],
    [`${root}/v2/`]: [200, { version: legacy(`${self}/v2/`) }],
    [`${root}/v2.1/`]: [200, { version: current(`${self}/v2.1/`) }],
  };
}

async function found(endpoint: string, answers: Answers) {
  const asked: string[] = [];
  const { value, failure } = await discover(endpoint, async url => {
    asked.push(url);
    const [status, body] = answers[url] ?? [
      404,
      { itemNotFound: { message: 'The resource could not be found.' } },
    ];
    const response: HttpResponse = {
      status,
      headers: {},
      text: typeof body === 'string' ? body : JSON.stringify(body),
    };
    return { value: response };
  });
  return { base: value?.base, most: value?.most, failure: failure?.message, asked };
}

/** What the catalog says, and where Nova is spoken to. */
const forms: readonly (readonly [endpoint: string, base: string, root: string])[] = [
  ['http://nova:8774/v2.1', 'http://nova:8774/v2.1', 'http://nova:8774'],
  [`http://nova:8774/v2.1/${project}`, `http://nova:8774/v2.1/${project}`, 'http://nova:8774'],
  [
    `http://nova:8774/v2.1/AUTH_${project}`,
    `http://nova:8774/v2.1/AUTH_${project}`,
    'http://nova:8774',
  ],
  ['http://nova:8774/v2', 'http://nova:8774/v2.1', 'http://nova:8774'],
  [`http://nova:8774/v2/${project}`, `http://nova:8774/v2.1/${project}`, 'http://nova:8774'],
  [`http://nova:8774/v2.0/${project}`, `http://nova:8774/v2.1/${project}`, 'http://nova:8774'],
  ['http://nova:8774', 'http://nova:8774/v2.1', 'http://nova:8774'],
  [
    'https://cloud.example/compute',
    'https://cloud.example/compute/v2.1',
    'https://cloud.example/compute',
  ],
  [
    'https://cloud.example/compute/v2.1',
    'https://cloud.example/compute/v2.1',
    'https://cloud.example/compute',
  ],
  [
    `https://cloud.example/compute/v2/${project}`,
    `https://cloud.example/compute/v2.1/${project}`,
    'https://cloud.example/compute',
  ],
  ['https://v2.example/nova', 'https://v2.example/nova/v2.1', 'https://v2.example/nova'],
];

describe('the version of Nova that has microversions', () => {
  for (const [endpoint, base, root] of forms) {
    for (const self of [root, 'http://127.0.0.1:8774', 'https://elsewhere.example/nova']) {
      test(`${endpoint}, of a Nova that takes itself for ${self}`, async () => {
        const { asked, ...said } = await found(endpoint, novaAt(root, self));
        assert.deepEqual(said, { base, most: 96, failure: undefined });
        for (const url of asked)
          assert.ok(
            url.startsWith(`${root}/`),
            `${url}: the token goes to the host of the catalog alone`,
          );
      });
    }
  }

  const root = 'http://nova:8774';
  const lists: readonly (readonly [what: string, status: number, body: unknown, base: string])[] = [
    ['a list with status 300', 300, { versions: [current(`${root}/v2.1/`)] }, `${root}/v2.1`],
    [
      'choices',
      300,
      { choices: [legacy(`${root}/v2/`), current(`${root}/v2.1/`)] },
      `${root}/v2.1`,
    ],
    [
      'versions that are deprecated',
      200,
      { versions: [current(`${root}/v2.1/`, { status: 'DEPRECATED' })] },
      `${root}/v2.1`,
    ],
    [
      'a later one that is no more than an experiment',
      200,
      {
        versions: [
          current(`${root}/v2.9/`, { id: 'v2.9', status: 'EXPERIMENTAL' }),
          current(`${root}/v2.1/`, { status: 'SUPPORTED' }),
        ],
      },
      `${root}/v2.1`,
    ],
    ['no links', 200, { versions: [current('', { links: [] })] }, `${root}/v2.1`],
    [
      'a link that is no text',
      200,
      { versions: [current('', { links: [{ rel: 'self', href: 7 }] })] },
      `${root}/v2.1`,
    ],
    [
      'a link that leads out',
      200,
      { versions: [current(`${root}/../../evil`, { id: 'v2.1' })] },
      `${root}/v2.1`,
    ],
    [
      'one version, at an address that does not say so',
      200,
      { version: current(`${root}/`) },
      root,
    ],
  ];
  for (const [what, status, body, base] of lists)
    test(what, async () =>
      assert.equal((await found(root, { [`${root}/`]: [status, body] })).base, base),
    );

  test('a list that is withheld or no JSON: v2.1, which all have that have any', async () => {
    for (const answer of [
      [403, {}],
      [404, {}],
      [200, '<html>welcome</html>'],
      [200, { versions: 'none' }],
    ] as const) {
      const answers = { ...novaAt(root), [`${root}/`]: answer };
      assert.equal((await found(root, answers)).base, `${root}/v2.1`, JSON.stringify(answer));
      assert.equal((await found(`${root}/v2/${project}`, answers)).base, `${root}/v2.1/${project}`);
    }
  });

  test('a Nova without microversions has none, and one that is in trouble is no Nova without them', async () => {
    const old = {
      [`${root}/`]: [200, { versions: [legacy(`${root}/v2/`, 'CURRENT')] }],
      [`${root}/v2/`]: [200, { version: legacy('') }],
    } as const;
    assert.deepEqual((await found(`${root}/v2/${project}`, old)).most, undefined);
    const trouble = await found(`${root}/v2.1`, {
      ...novaAt(root),
      [`${root}/v2.1/`]: [503, { serviceUnavailable: { message: 'not now' } }],
    });
    assert.match(trouble.failure ?? '', /not now/);
    assert.match((await found(root, {})).failure ?? '', /could not be found/);
  });
});

test('a client finds its way from a catalog without a version, and from that of the legacy API', async () => {
  for (const name of ['compute', `compute/v2/${project}`]) {
    const harness = makeHarness();
    const paths: string[] = [];
    const tap: Tap = async (asking, carry) => {
      const url = new URL(asking.url);
      paths.push(url.pathname);
      const root = `${url.origin}/compute`;
      if (url.pathname === '/compute/')
        return {
          status: 200,
          headers: {},
          text: JSON.stringify({
            versions: [legacy(`${root}/v2/`), current('http://127.0.0.1/v2.1/')],
          }),
        };
      if (url.pathname === '/compute/v2/')
        return {
          status: 200,
          headers: {},
          text: JSON.stringify({ version: legacy(`${root}/v2/`) }),
        };
      if (url.pathname.includes(`/v2.1/${project}`))
        return harness.api.exchange({ ...asking, url: asking.url.replace(`/${project}`, '') });
      const answer = await carry();
      return url.pathname.endsWith('/auth/tokens')
        ? { ...answer, text: answer.text.replaceAll('/compute/v2.1', `/${name}`) }
        : answer;
    };
    const { value, failure } = await harness.open(tap).services(new AbortController().signal);
    assert.equal(value?.length, 3, `${failure?.message}: ${paths.join(' ')}`);
  }
});
