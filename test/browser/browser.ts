import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not to be run: either way it is none.
    return false;
  }
}

/** A Chromium of this machine: CHROME_PATH, one on PATH, or one that playwright has downloaded. */
function findBrowser(): string | undefined {
  const { CHROME_PATH = '', PATH = '' } = process.env;
  if (CHROME_PATH !== '') return CHROME_PATH;
  const onPath = PATH.split(delimiter).flatMap(folder => names.map(name => join(folder, name)));
  return [...onPath, chromium.executablePath()].find(isProgram);
}

/** Why the tests are left out; false when they can be run. */
export const leftOut =
  findBrowser() === undefined &&
  `browser left out: no Chromium on PATH or in CHROME_PATH (${names.join(', ')})`;

export function launch(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('there is no browser');
  // Chromium's sandbox refuses to be root.
  return chromium.launch({
    executablePath,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}
