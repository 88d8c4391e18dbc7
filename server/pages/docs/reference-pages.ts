import { errorCatalogue } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { differencesOf, latestVersion, supportedVersions } from '../../http/versions/versions.ts';
import { escaped } from '../../platform/html.ts';
import { installOf } from '../sdk.ts';
import { type Fields, fieldList, foldedMax, parameterList, typeOf } from './fields.ts';
import { codeBlock, sampleTabs } from './highlight.ts';
import { docsPage, type Entry, isCurrent } from './layout.ts';
import {
  type Answer,
  type Call,
  type Described,
  exampleOf,
  nameOf,
  type ApiOperation,
  type Schema,
} from './openapi.ts';
import { inline, prose, slug } from './prose.ts';
import { bodyExample, isList, samplesOf } from './samples.ts';

/** The pages of the API reference: an introduction, one page for each group of calls, and one for the events. */

const eventsPage = 'webhook-events';

const referenceAddress = (version: string, page = ''): string =>
  `/docs/api/${version === latestVersion ? '' : `${version}/`}${page}`;

interface Group {
  readonly name: string;
  readonly page: string;
  readonly description: string;
  readonly calls: readonly Call[];
  /** The objects that the calls return. They are shown once, above the calls. */
  readonly objects: readonly string[];
}

const anchorOf = (name: string): string => `${slug(name)}-object`;
const anchor = (id: string, text: string): string =>
  `<a class="anchor" href="#${escaped(id)}" aria-label="Link to: ${escaped(text)}">#</a>`;

function groupsOf(described: Described): Group[] {
  const taken = new Set<string>();
  // The tag of the webhooks has no calls. Its page is that of the events.
  const tags = described.document.tags.filter(({ name }) => described.calls.some((call) => call.tags.includes(name)));
  return tags.map(({ name, description = '' }) => {
    const calls = described.calls.filter((call) => call.tags.includes(name));
    const objects = [...new Set(calls.flatMap((call) => returnedObject(call, described) ?? []))].filter(
      (one) => !taken.has(one),
    );
    for (const one of objects) taken.add(one);
    return { name, page: slug(name), description, calls, objects };
  });
}

const successOf = ({ responses }: ApiOperation): [status: string, answer: Answer] | undefined =>
  Object.entries(responses).find(([status]) => status.startsWith('2'));

/** The name of the object that a call returns, or of the objects in the list that it returns. */
function returnedObject(call: Call, described: Described): string | undefined {
  const schema = successOf(call)?.[1].content?.['application/json']?.schema;
  if (!schema) return undefined;
  const items = isList(call) ? described.resolve(schema).properties?.data?.items : undefined;
  return nameOf(items ?? schema);
}

export interface ReferencePages {
  /** Writes a page; undefined if there is none. */
  page(name: string): string | undefined;
  readonly entries: readonly ReferenceEntry[];
}

/** What the search finds. */
export interface ReferenceEntry extends Entry {
  readonly detail: string;
  readonly text: string;
}

export function referencePages(described: Described, brandName: string): ReferencePages {
  const groups = groupsOf(described);
  const address = (page = ''): string => referenceAddress(described.version, page);
  const objectPages = new Map(groups.flatMap(({ page, objects }) => objects.map((name) => [name, page] as const)));
  const fields: Fields = {
    described,
    addressOf: (name) => {
      const page = objectPages.get(name);
      return page === undefined ? undefined : `${address(page)}#${anchorOf(name)}`;
    },
  };
  const pages: readonly Entry[] = [
    { address: address(), title: 'Introduction' },
    ...groups.map(({ page, name }) => ({ address: address(page), title: name })),
    { address: address(eventsPage), title: 'Webhook events' },
  ];
  const write = (page: string, title: string, content: string, inner: readonly Entry[]): string => {
    const here = pages.findIndex((one) => one.address === address(page));
    return docsPage({
      brandName,
      site: 'reference',
      title,
      navigation: `${versionSwitch(described.version, page)}${navigation(pages, here, inner)}`,
      content,
      previous: pages[here - 1],
      next: pages[here + 1],
    });
  };
  return {
    page(name) {
      if (name === '') return write('', 'API reference', introduction(described, groups, address), []);
      if (name === eventsPage) return write(name, 'Webhook events', events(described, fields), []);
      const group = groups.find(({ page }) => page === name);
      if (!group) return undefined;
      const inner = [
        ...group.objects.map((object) => ({ address: `#${anchorOf(object)}`, title: `The ${object} object` })),
        ...group.calls.map(({ operationId, summary }) => ({ address: `#${operationId}`, title: summary })),
      ];
      return write(name, group.name, groupContent(group, fields), inner);
    },
    entries: [
      ...groups.flatMap(({ name, page, calls }) =>
        calls.map(({ operationId, summary, method, path, description }) => ({
          address: `${address(page)}#${operationId}`,
          title: summary,
          detail: `${name} · ${method} ${path}`,
          text: description,
        })),
      ),
      ...Object.entries(described.document.webhooks).map(([type, { post }]) => ({
        address: `${address(eventsPage)}#${type}`,
        title: type,
        detail: 'Webhook events',
        text: post.summary,
      })),
    ],
  };
}

function navigation(pages: readonly Entry[], here: number, inner: readonly Entry[]): string {
  const items = pages.map(({ address, title }, index) => {
    const parts = index === here ? inner : [];
    const below = parts.map((one) => `<li><a href="${one.address}">${escaped(one.title)}</a>`).join('');
    return `<li><a href="${address}"${isCurrent(index === here)}>${escaped(title)}</a>${below && `<ul>${below}</ul>`}`;
  });
  return `<ul>${items.join('')}</ul>`;
}

function versionSwitch(version: string, page: string): string {
  const items = supportedVersions.map(
    (one) =>
      `<li><a href="${referenceAddress(one, page)}"${isCurrent(one === version, 'true')}>${one}${one === latestVersion ? ' (latest)' : ''}</a>`,
  );
  return `<details class="versions"><summary>Version ${version}</summary><ul>${items.join('')}</ul></details>`;
}

function introduction(described: Described, groups: readonly Group[], address: (page?: string) => string): string {
  const { version, document } = described;
  const differences = differencesOf(version);
  const rows = groups.map(
    ({ name, page, description }) =>
      `<li><a href="${address(page)}"><b>${escaped(name)}</b><span>${inline(description)}</span></a>`,
  );
  const base = document.servers[0]?.url ?? '';
  const specification = version === latestVersion ? '/openapi.json' : `/openapi/${version}.json`;
  return `<h1 id="introduction">API reference</h1>
${prose(document.info.description.split('\n\n').slice(0, 1).join())}
${differences.length === 0 ? '' : `<h2 id="differences">Differences from ${latestVersion}</h2><ul>${differences.map((text) => `<li>${inline(text)}`).join('')}</ul>`}
<ul class="cards">${rows.join('')}<li><a href="${address(eventsPage)}"><b>Webhook events</b><span>What your server receives, with examples.</span></a></ul>
<h2 id="authentication">Authentication ${anchor('authentication', 'Authentication')}</h2>
<p>Send a secret key with every request. Keys that begin with <code>svc_test_</code> belong to the sandbox, where no money moves. Create keys in the
<a href="/developers/api-keys">dashboard</a>.</p>
${codeBlock(`export SVC_URL=${base}\nexport SVC_KEY=svc_test_sk_…\n\ncurl "$SVC_URL/v1/customers" -H "Authorization: Bearer $SVC_KEY"`, 'sh', 'curl')}
<p>The <a href="/docs/sdk">SDKs for Node, Python and Go</a> come from this service, too:</p>
${codeBlock(installOf('@svc-payments/node', base), 'sh', 'Shell')}
${codeBlock(`import { Svc } from '@svc-payments/node';\n\nconst svc = new Svc(process.env.SVC_KEY, { baseUrl: process.env.SVC_URL });`, 'js', 'Node')}
${codeBlock(`import os\n\nfrom svc_payments import Svc\n\nsvc = Svc(os.environ["SVC_KEY"], base_url=os.environ["SVC_URL"])`, 'python', 'Python')}
<h2 id="requests">Requests and responses ${anchor('requests', 'Requests and responses')}</h2>
<p>Requests and responses are JSON. Times are ISO 8601 in UTC. Every response has the header <code>SVC-Request-Id</code>, by which you find the request in the
<a href="/developers/requests">request log</a>. Send <code>SVC-Version: ${version}</code> to get the responses that this page describes.
The <a href="${specification}">OpenAPI document</a> describes the same for programs.</p>
<h2 id="lists">Lists ${anchor('lists', 'Lists')}</h2>
<p>A list returns <code>data</code>, <code>has_more</code> and <code>cursors</code>. Send <code>starting_after</code> with the ID of the last object to get the next
page. The SDKs load further pages while you iterate.</p>
<h2 id="idempotency">Idempotency ${anchor('idempotency', 'Idempotency')}</h2>
<p>Send the header <code>X-SVC-Idempotency-Key</code> with a new UUID for each operation. If you repeat a request with the same key, you get the same response and
nothing is charged twice. See <a href="/docs/idempotency-and-errors">Idempotency and errors</a>.</p>
<h2 id="errors">Errors ${anchor('errors', 'Errors')}</h2>
<p>An error has a status of 4xx or 5xx and this body. <a href="/docs/errors">All ${Object.keys(errorCatalogue).length} codes</a> are listed in the guides. A declined
card is not an error.</p>
${codeBlock(JSON.stringify(exampleOf({ $ref: '#/components/schemas/Error' }, described), null, 2), 'json')}`;
}

function groupContent(group: Group, fields: Fields): string {
  return [
    `<h1 id="${group.page}">${escaped(group.name)}</h1>`,
    prose(group.description),
    ...group.objects.map((name) => objectSection(name, fields)),
    ...group.calls.map((call) => callSection(call, fields)),
  ].join('\n');
}

function objectSection(name: string, fields: Fields): string {
  const { described } = fields;
  const reference: Schema = { $ref: `#/components/schemas/${name}` };
  const schema = described.resolve(reference);
  const id = anchorOf(name);
  const title = `The ${name} object`;
  const variants = schema.oneOf ?? schema.anyOf;
  const shown = variants
    ? `<p>One of ${variants.map((one) => `<code>${escaped(nameOf(one) ?? '')}</code>`).join(', ')}.</p>`
    : fieldList(reference, fields, 0, true);
  const example = codeBlock(JSON.stringify(exampleOf(reference, described), null, 2), 'json', title);
  return section(id, title, `${schema.description ? prose(schema.description) : ''}${shown}`, example);
}

/** On a wide screen, the samples stand beside the text. */
const section = (id: string, title: string, text: string, samples: string): string =>
  `<section class="part" aria-labelledby="${escaped(id)}"><div><h2 id="${escaped(id)}">${escaped(title)} ${anchor(id, title)}</h2>${text}</div><div class="samples">${samples}</div></section>`;

function callSection(call: Call, fields: Fields): string {
  const { described } = fields;
  const parameters = call.parameters.map((one) => described.resolve(one));
  const named = (place: 'path' | 'query' | 'header', title: string): string => {
    const list = parameters.filter((one) => one.in === place && one.name !== 'SVC-Version');
    return list.length === 0 ? '' : folded(title, parameterList(list, fields), list.length > 6);
  };
  const body = Object.values(call.requestBody?.content ?? {})[0]?.schema;
  const text = [
    `<p class="route"><span class="method">${call.method}</span> <code>${escaped(call.path)}</code></p>`,
    prose(call.description),
    named('path', 'Path parameters'),
    named('query', 'Query parameters'),
    named('header', 'Headers'),
    body ? folded('Body', fieldList(body, fields), false) : '',
    returns(call, fields),
    errorsOf(call, described),
  ].join('');
  return section(call.operationId, call.summary, text, callSamples(call, described));
}

const folded = (title: string, content: string, isLong: boolean): string =>
  isLong ? `<details class="fold"><summary>${title}</summary>${content}</details>` : `<h3>${title}</h3>${content}`;

function returns(call: Call, fields: Fields): string {
  const [status, answer] = successOf(call) ?? [];
  const schema = answer?.content?.['application/json']?.schema;
  if (!schema) return '';
  const name = returnedObject(call, fields.described);
  const known = name && fields.addressOf(name);
  const what =
    isList(call) && name
      ? `A list of ${typeOf({ $ref: `#/components/schemas/${name}` }, fields)}`
      : typeOf(schema, fields);
  const inner = known ? '' : fieldList(schema, fields, 0, true);
  return `<h3>Returns</h3><p><code>${status}</code> ${what}</p>${inner}`;
}

function errorsOf(call: Call, described: Described): string {
  const rows = Object.entries(call.responses)
    .filter(([status]) => /^[45]/.test(status))
    .flatMap(([status, given]) =>
      described
        .resolve(given)
        .description.split(/\n(?=- )/)
        .map((line) => /^- `(\w+)`: ([\s\S]*)$/.exec(line))
        .map((match) => (match ? { status, code: match[1] ?? '', meaning: match[2] ?? '' } : undefined)),
    )
    .filter((row) => row !== undefined);
  const lines = rows.map(
    ({ status, code, meaning }) => `<tr><td>${status}<td><code>${code}</code><td>${inline(meaning)}`,
  );
  const table = `<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Status<th scope="col">Code<th scope="col">Meaning</thead><tbody>${lines.join('')}</tbody></table></div>`;
  return `<details class="fold"><summary>Errors</summary>${table}</details>`;
}

function callSamples(call: Call, described: Described): string {
  const schema = successOf(call)?.[1].content?.['application/json']?.schema;
  const answer = schema ? codeBlock(JSON.stringify(exampleOf(schema, described), null, 2), 'json', 'Response') : '';
  return `${sampleTabs(samplesOf(call, described))}${tryIt(call, described)}${answer}`;
}

/** What the form needs to send the call. A script shows it, because the form is useless without one. */
function tryIt(call: Call, described: Described): string {
  if (call.requestBody?.content['multipart/form-data']) return '';
  const names = (place: 'path' | 'query'): string[] =>
    call.parameters
      .map((one) => described.resolve(one))
      .filter((one) => one.in === place)
      .map(({ name }) => name);
  const body = bodyExample(call);
  const form = {
    method: call.method,
    path: call.path,
    version: described.version,
    ids: names('path'),
    query: names('query'),
    isKeyed: call['x-idempotency'] !== 'none',
    ...(body !== undefined && { body: JSON.stringify(body, null, 2) }),
  };
  return `<div class="try" data-call="${escaped(JSON.stringify(form))}"></div>`;
}

function events(described: Described, fields: Fields): string {
  const parts = Object.entries(described.document.webhooks).map(([type, { post }]) => {
    const schema = post.requestBody?.content['application/json']?.schema ?? {};
    const data = described.resolve(described.resolve(schema).properties?.data ?? {}).properties?.object ?? {};
    const example = exampleOf(schema, described);
    return `<section class="part" aria-labelledby="${type}"><div><h2 id="${type}"><code>${type}</code> ${anchor(type, type)}</h2><p>${inline(post.summary)}. <code>data.object</code> is ${typeOf(data, fields)}.</p></div><div class="samples"><details class="fold"><summary>Example</summary>${codeBlock(JSON.stringify(example, null, 2), 'json', type)}</details></div></section>`;
  });
  const delivery = Object.values(described.document.webhooks)[0]?.post;
  const { type: _, ...common } =
    described.resolve(delivery?.requestBody?.content['application/json']?.schema ?? {}).properties ?? {};
  return `<h1 id="webhook-events">Webhook events</h1>
<p>Your endpoint receives each event as a <code>POST</code> request. Verify the signature before you trust the body; the
<a href="/docs/webhooks">guide</a> shows how. Respond with a status of 2xx within ${limits.webhookTimeoutSeconds} seconds. Other responses are retried, and 410 disables the endpoint.</p>
<h2 id="headers">Headers ${anchor('headers', 'Headers')}</h2>${parameterList(delivery?.parameters ?? [], fields)}
<h2 id="fields">Fields of every event ${anchor('fields', 'Fields of every event')}</h2>${fieldList({ properties: common }, fields, foldedMax)}
${parts.join('\n')}`;
}
