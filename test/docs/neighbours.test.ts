import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allTiers, readNeighbours, root, versionsOf } from '../../tools/neighbours/list.ts';
import {
  type Age,
  claimedTiers,
  freshnessOf,
  type GreenRun,
  judge,
  maxCommits,
  readRecords,
  turnOf,
} from '../../tools/neighbours/records.ts';
import { documentsText, tableOf, withTable } from '../../tools/neighbours/table.ts';

/**
 * What documents claim of real systems is tied to the tier that has seen it, and CI takes those
 * tiers in turn.
 */

const neighbours = await readNeighbours();
const names = neighbours.map(({ name }) => name);

function run(commit: string): GreenRun {
  return { commit, date: '2026-11-27', passed: 3, seconds: 61, versions: { Etcd: '3' } };
}
function tier(name: string, asked = `npm run test:${name}`) {
  return { name, asked, files: [], systems: { Etcd: { installed: 'etcd' } } };
}
function aged(...ages: readonly Age[]) {
  return ages.map((age, at) => ({ name: `tier-${at}`, asked: 'npm run it', isNew: false, age }));
}

test('every tier that npm test leaves to another command has real systems, or its files run anyway', async () => {
  const tiers = await allTiers();
  const files = new Set(tiers.filter(({ asked }) => asked === undefined).flatMap(one => one.files));
  const bare = tiers.filter(one => one.asked !== undefined && !names.includes(one.name));
  for (const one of bare)
    assert.deepEqual(
      one.files.filter(file => !files.has(file)),
      [],
      one.name,
    );
  assert.ok(names.length >= 8, names.join());
});

test('the versions of all that is pinned here are found', () => {
  for (const neighbour of neighbours) {
    const pinned = Object.entries(neighbour.systems).filter(
      ([, system]) => !('installed' in system),
    );
    const versions = versionsOf({ ...neighbour, systems: Object.fromEntries(pinned) });
    for (const [system, version] of Object.entries(versions))
      assert.match(version, /^\d+\.\d/, `${neighbour.name}: ${system}`);
  }
});

test('records are of tiers that there are', () => {
  assert.deepEqual(
    Object.keys(readRecords()).filter(name => !names.includes(name)),
    [],
  );
});

test('a claim counts for so many commits after a green run, and no more', () => {
  const unseen = [maxCommits, maxCommits + 1].map(age => ({
    name: `unseen-${age}`,
    asked: 'npm run it',
    isNew: true,
    age,
  }));
  const all = [
    ...aged(maxCommits, maxCommits + 1, 'lost', 'unknown'),
    ...unseen,
    { ...unseen[1]!, name: 'not claimed' },
  ];
  const { problems, remarks } = judge(
    all,
    new Set(['tier-0', 'tier-1', 'tier-2', 'tier-3', 'unseen-150', 'unseen-151']),
  );
  const remedy = 'npm run it on a clean checkout, then commit what it records';
  assert.deepEqual(problems, [
    `the tier tier-1 was last green 151 commits ago, and counts for 150: ${remedy}`,
    `the tier tier-2 was green on a commit that is not in the history of this branch: ${remedy}`,
    `the tier unseen-151 has not been green since that is recorded, 151 commits ago, and has 150: ${remedy}`,
  ]);
  assert.deepEqual(remarks, [
    `the tier unseen-150 has not been green since that is recorded, 150 commits ago, and has 150: ${remedy}`,
    'not known in a clone without its history: whether tier-3 were green lately',
  ]);
});

test('a text claims the tiers that it names, alone or among others, and those whose command it names', () => {
  const all = ['nodes', 'olm', 'upgrade', 'nova'].map(name => tier(name));
  const claimed = (text: string): readonly string[] => [...claimedTiers(text, all)];
  assert.deepEqual(claimed('amd64 (tier `nodes`)'), ['nodes']);
  assert.deepEqual(claimed('in tiers `nodes`, `olm` and `upgrade`'), ['nodes', 'olm', 'upgrade']);
  assert.deepEqual(claimed('seen by `npm run test:nova`'), ['nova']);
  assert.deepEqual(claimed('three `nodes` of the tier `simulation`'), []);
});

test('the table that is written claims nothing', () => {
  const table = tableOf([tier('nodes')], {});
  const text = withTable(
    'a <!-- written by npm run generate --> b <!-- end of what is written --> c',
    table,
  );
  assert.deepEqual([...claimedTiers(withTable(text, ''), [tier('nodes')])], []);
  assert.deepEqual([...claimedTiers(text, [tier('nodes')])], ['nodes']);
  assert.throws(() => withTable('a document without a place', table), /has no place for the table/);
});

test('the table says what has been seen, when, on which commit and in which versions', () => {
  const [, , green, never] = tableOf([tier('nova'), tier('olm')], {
    nova: run('0123456789abcdef'),
  }).split('\n');
  assert.equal(
    green,
    '| `nova` | Etcd 3 | 2026-11-27 | `01234567` | 3 in 1 min | `npm run test:nova` |',
  );
  assert.equal(never, '| `olm` | Etcd | never | | | `npm run test:olm` |');
});

test('it is the turn of the one that was green longest ago, and of another one with each commit', () => {
  const all = freshnessOf(
    [tier('b'), tier('a'), tier('new'), tier('late')],
    { b: run('1'), a: run('1'), late: run('2') },
    commit => (commit === '1' ? 90 : 3),
    5,
  );
  assert.deepEqual(
    [0, 1, 2, 3, 4].map(commits => turnOf(all, commits)),
    ['new', 'a', 'b', 'late', 'new'],
  );
});

/** Only such tests are in these folders. */
const folders = new Map(
  neighbours.flatMap(({ name, files }) =>
    files.map(file => [file.split('/').slice(0, 2).join('/'), name] as const),
  ),
);

test('every row of docs/compatibility.md whose test runs real systems names the tier', async () => {
  const everyTime = (await allTiers())
    .filter(({ asked }) => asked === undefined)
    .flatMap(({ files }) => files);
  const own = [...folders].filter(
    ([folder]) => !everyTime.some(file => file.startsWith(`${folder}/`)),
  );
  assert.ok(own.length >= 4, own.join());
  const text = readFileSync(join(root, 'docs', 'compatibility.md'), 'utf8');
  const places = readFileSync(join(root, 'test', 'docs', 'compatibility.test.ts'), 'utf8');
  /** By the name that rows have for a file. */
  const folderOf = (file: string): string | undefined => {
    const alone = new RegExp(`\\['${file}', '(test/\\w+)/`).exec(places);
    return (alone ?? new RegExp(`inFolder\\('(test/\\w+)'[^)]*'${file}'`).exec(places))?.[1];
  };
  let found = 0;
  for (const chapter of text.split(/^## /m)) {
    const intro = chapter.slice(0, chapter.indexOf('\n| '));
    for (const row of chapter.split('\n').filter(line => line.startsWith('| '))) {
      const used = [...row.matchAll(/(?<=[|>] ?)([a-z0-9-]+): `/g)].map(([, file = '']) =>
        folderOf(file),
      );
      for (const [folder, name] of own.filter(([one]) => used.includes(one))) {
        found += 1;
        assert.ok(
          claimedTiers(row, neighbours).has(name) || claimedTiers(intro, neighbours).has(name),
          `${folder}: ${row}`,
        );
      }
    }
  }
  assert.ok(found >= 10, `${found} rows rest on real systems`);
});

test('what documents claim names all tiers: none runs for nothing', () => {
  assert.deepEqual([...claimedTiers(documentsText(), neighbours)], names);
});
