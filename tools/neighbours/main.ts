import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ageOf, ageOfRecords, cleanHead, commitsSinceRecorded } from './history.ts';
import { readNeighbours, root, versionsOf } from './list.ts';
import {
  claimedTiers,
  freshnessOf,
  judge,
  readRecords,
  recordsFile,
  turnOf,
  writeRecords,
} from './records.ts';
import { compatibilityFile, documentsText } from './table.ts';

/**
 * `check`: whether what documents claim of real systems has been seen lately. `turn`: the tier that
 * CI is to run. `state`: the commit that a run can be recorded for. `record TIER PASSED SECONDS
 * COMMIT`: after a green run.
 */

const neighbours = await readNeighbours();

function freshness() {
  return freshnessOf(neighbours, readRecords(), ageOf, ageOfRecords());
}

function check(): void {
  const claimed = claimedTiers(documentsText(), neighbours);
  const { problems, remarks } = judge(freshness(), claimed);
  for (const problem of problems) console.error(problem);
  for (const remark of remarks) console.log(`!! ${remark}`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

async function record(name = '', passed = '', seconds = '', commit = ''): Promise<void> {
  const neighbour = neighbours.find(one => one.name === name);
  if (neighbour === undefined) throw new Error(`no tier of real systems is called "${name}"`);
  if (commit === '' || cleanHead() !== commit) {
    console.log(`${name}: green, and not recorded, for something here is not committed`);
    return;
  }
  const date = new Date().toISOString().slice(0, 10);
  const run = {
    commit,
    date,
    passed: Number(passed),
    seconds: Number(seconds),
    versions: versionsOf(neighbour),
  };
  writeRecords({ ...readRecords(), [name]: run });
  const [file, text] = await compatibilityFile();
  writeFileSync(join(root, file), text);
  console.log(
    `${name}: recorded in ${recordsFile} and ${file}, to be committed: ${JSON.stringify(run)}`,
  );
}

const [command, ...args] = process.argv.slice(2);
if (command === 'check') check();
else if (command === 'turn') console.log(turnOf(freshness(), commitsSinceRecorded()));
else if (command === 'state') console.log(cleanHead() ?? '');
else if (command === 'record') await record(...args);
else throw new Error(`no command "${command ?? ''}"`);
