/** Reads XML as strictly as it can: a test must notice what a lenient program would accept. */

export interface XmlNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
  readonly text: string;
}

interface Open {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: XmlNode[];
  text: string;
}

const signs: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

function decoded(text: string): string {
  if (forbidden.test(text)) throw new Error(`a character that XML cannot have: ${JSON.stringify(text)}`);
  if (/[<>"]/.test(text)) throw new Error(`a sign that is not escaped: ${text}`);
  return text.replaceAll(/&([^;]*;?)/g, (_, name: string) => {
    const sign = signs[name.slice(0, -1)];
    if (sign === undefined || !name.endsWith(';')) throw new Error(`not an entity: &${name}`);
    return sign;
  });
}

function attributesIn(text: string): Record<string, string> {
  const pattern = / ([\w:]+)="([^"]*)"/gy;
  const found = [...text.matchAll(pattern)];
  if (found.map(([whole]) => whole).join('') !== text) throw new Error(`attributes: ${text}`);
  const names = found.map(([, name]) => name);
  if (new Set(names).size < names.length) throw new Error(`an attribute twice: ${text}`);
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, decoded(value)]));
}

export function readXml(xml: string): XmlNode {
  const [head = ''] = /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/.exec(xml) ?? [];
  if (head === '') throw new Error('no declaration');
  const top: Open = { name: '', attributes: {}, children: [], text: '' };
  const open: Open[] = [top];
  for (const [part] of xml
    .slice(head.length)
    .trimEnd()
    .matchAll(/<[^>]*>|[^<]+/g)) {
    const current = open.at(-1) ?? top;
    const [, slash, name = '', rest = ''] = /^<(\/?)([\w:]+)([^>]*)>$/.exec(part) ?? [];
    if (name === '') current.text += decoded(part);
    else if (slash === '/') {
      if (current.name !== name || rest !== '' || open.length === 1) throw new Error(`${part} ends <${current.name}>`);
      open.pop();
      open.at(-1)?.children.push(current);
    } else open.push({ name, attributes: attributesIn(rest), children: [], text: '' });
  }
  const [root, ...more] = top.children;
  if (!root || more.length > 0 || open.length > 1 || top.text !== '') throw new Error('not one whole document');
  return root;
}

/** All nodes at a path below, for example `rsm:ExchangedDocument/ram:ID`. */
export function nodesAt(node: XmlNode, path: string): XmlNode[] {
  return path
    .split('/')
    .reduce<XmlNode[]>(
      (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
      [node],
    );
}

/** The text at a path, undefined if there is none. */
export function textAt(node: XmlNode, path: string): string | undefined {
  return nodesAt(node, path)[0]?.text;
}

export function everyNode(node: XmlNode): XmlNode[] {
  return [node, ...node.children.flatMap(everyNode)];
}
