import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { faint, focus, nameless, sideways, violations } from './in-page.ts';

/** Pages of the tests, and what is asked of every one of them. */

export const desktop = { width: 1360, height: 860 };
export const phone = { width: 390, height: 844 };
export const patience = 20_000;

type PageOptions = Parameters<Browser['newPage']>[0];

/** A page whose errors are kept, of the size of a desktop unless something else is given. */
export async function newPage(
  browser: Browser,
  complaints: string[],
  options: PageOptions = {},
): Promise<Page> {
  const page = await browser.newPage({ viewport: desktop, colorScheme: 'light', ...options });
  page.setDefaultTimeout(patience);
  // The page's own policy would refuse any other way.
  await page.addInitScript({ content: axe.source });
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('console', message => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return page;
}

/** Everything that a page of any size and colour has to be. */
export async function isSound(of: Page, what: string): Promise<void> {
  assert.deepEqual(
    [await of.evaluate(nameless), await of.evaluate(faint), await of.evaluate(sideways)],
    [[], [], 0],
    what,
  );
  assert.deepEqual(await of.evaluate(violations), [], what);
}

/**
 * Presses a key until the focus is where it should be; on the way it can be seen at every place.
 */
export async function pressUntil(
  page: Page,
  key: string,
  isThere: (at: ReturnType<typeof focus>) => boolean,
): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press(key);
    const at = await page.evaluate(focus);
    assert.ok(at.isSeen || at.isNowhere, `the focus on "${at.text}" cannot be seen`);
    if (isThere(at)) return;
  }
  assert.fail('it cannot be reached with the keyboard');
}
