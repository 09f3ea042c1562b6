/**
 * An element of an answer of EC2: a text, or elements in their order. There are no attributes that
 * matter and no mixed contents.
 */
export type Element = {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Element[];
};

const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
};
function plain(text: string): string {
  return text.replaceAll(
    /&(?:#(\d+)|(\w+));/g,
    (all, code: string | undefined, name: string | undefined) =>
      code === undefined ? (entities[name ?? ''] ?? all) : String.fromCodePoint(Number(code)),
  );
}

type Open = { readonly name: string; text: string; readonly children: Element[] };

/** Reads an answer of EC2; its root element. */
export function parseXml(xml: string): Element {
  const top: Open = { name: '', text: '', children: [] };
  const open: Open[] = [top];
  for (const [, tag = '', text = ''] of xml.matchAll(/<([^>]*)>([^<]*)/g)) {
    if (tag.startsWith('?') || tag.startsWith('!')) continue;
    if (tag.startsWith('/')) {
      const done = open.pop();
      if (done === undefined || done.name !== tag.slice(1).trim())
        throw new Error(`not XML: ${xml.slice(0, 300)}`);
      const { name, children } = done;
      open
        .at(-1)
        ?.children.push({ name, text: children.length > 0 ? '' : plain(done.text), children });
      continue;
    }
    const name = /^[^\s/]+/.exec(tag)?.[0] ?? '';
    if (tag.endsWith('/')) open.at(-1)?.children.push({ name, text: '', children: [] });
    else open.push({ name, text, children: [] });
  }
  const [root] = top.children;
  if (root === undefined || open.length !== 1) throw new Error(`not XML: ${xml.slice(0, 300)}`);
  return root;
}

/** All elements at a path of names below one, for example `instancesSet/item`. */
export function elementsAt(element: Element, path: string): readonly Element[] {
  return path
    .split('/')
    .reduce<readonly Element[]>(
      (found, name) =>
        found.flatMap(({ children }) => children.filter(child => child.name === name)),
      [element],
    );
}

/** The text at a path, where there is one. */
export function textAt(element: Element, path: string): string | undefined {
  return elementsAt(element, path)[0]?.text;
}
