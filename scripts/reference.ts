import { readFile, writeFile } from 'node:fs/promises';
import { commandsPage } from '../cli/help.ts';
import { settings } from '../server/config.ts';
import { dashboardErrors, errorCatalogue } from '../server/errors.ts';
import { permissionNotes, permissions } from '../server/http/permissions.ts';
import { supportedVersions } from '../server/http/versions/versions.ts';
import { limits } from '../server/limits.ts';

/** The pages of docs/ that are written from the source. `node scripts/reference.ts` writes them; a test compares. */

const note = '<!-- Written by `node scripts/reference.ts` from the source. Change the source, then run it. -->';

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function configurationPage(): string {
  const rows = Object.entries(settings).map(([name, { fallback, describe }]) => [
    `\`${name}\``,
    fallback === '' ? '' : `\`${fallback}\``,
    describe,
  ]);
  return `${note}

# Configuration

Settings are environment variables. A value that cannot be right stops the start with a message that names the variable.

${table(['Variable', 'Default', 'Meaning'], rows)}

## Traces

Traces are sent when the standard OpenTelemetry variables ask for it: \`OTEL_EXPORTER_OTLP_ENDPOINT\` or
\`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\` names a collector (OTLP over HTTP, JSON). \`OTEL_SERVICE_NAME\` (default \`svc\`),
\`OTEL_RESOURCE_ATTRIBUTES\`, \`OTEL_TRACES_SAMPLER\`, \`OTEL_TRACES_SAMPLER_ARG\`, \`OTEL_TRACES_EXPORTER=none\` and
\`OTEL_SDK_DISABLED=true\` are honoured. Without them no tracing library is loaded.
`;
}

function errorsPage(): string {
  const rowsOf = (catalogue: typeof errorCatalogue | typeof dashboardErrors, reserved = false): string[][] =>
    Object.entries(catalogue).flatMap(([code, entry]) => {
      if ('reserved' in entry !== reserved) return [];
      const others = 'otherStatuses' in entry && entry.otherStatuses ? entry.otherStatuses : [];
      const cells = [`\`${code}\``, [entry.status, ...others].join(', '), `\`${entry.type}\``];
      return [reserved ? [...cells, entry.meaning] : [...cells, entry.stored ? 'yes' : 'no', entry.meaning]];
    });
  return `${note}

# Errors

Every error has the same body: \`error.type\`, \`error.code\` (stable), \`error.message\` (for people, may change),
\`error.param\` (the field most responsible, or null), \`error.request_id\` and \`error.field_errors\` (each with \`field\`,
\`code\` and \`message\`). All bad fields are reported at once. A declined card is not an error: the order comes back as
\`failed\` with a \`failure_code\`.

"Replayed" says whether an idempotency key remembers the answer. What is not remembered can be repeated with the same key.

${table(['Code', 'Status', 'Type', 'Replayed', 'Meaning'], rowsOf(errorCatalogue))}

## Reserved

Clients know these codes; no call answers with them.

${table(['Code', 'Status', 'Type', 'Why'], rowsOf(errorCatalogue, true))}

## In the dashboard only

${table(['Code', 'Status', 'Type', 'Replayed', 'Meaning'], rowsOf(dashboardErrors))}

Field errors: \`required_field\`, \`invalid_value\`, \`invalid_format\`, \`contains_html\`.
`;
}

function limitsPage(): string {
  const rows: [string, string][] = [
    [
      'Request body',
      `${limits.bodyBytes / 1024 / 1024} MiB, ${limits.jsonDepth} levels, ${limits.jsonValues.toLocaleString('en')} values; ` +
        `${limits.publicBodyBytes / 1024} KiB for publishable keys and where no key or session is needed`,
    ],
    ['Image', `${limits.imageBytes / 1024 / 1024} MB; JPEG, PNG or GIF; ${limits.imagesPerProduct} per product`],
    [
      'Order',
      `${limits.orderItems} items, ${limits.quantityMax.toLocaleString('en')} of a product, ${limits.orderTotalCentsMax.toLocaleString('en')} cents in all`,
    ],
    ['API keys', `${limits.apiKeys.toLocaleString('en')} per company that are neither revoked nor expired`],
    ['Webhook endpoints', `${limits.webhookEndpoints} per company; ${limits.webhookTimeoutSeconds} seconds to answer`],
    ['Events', `kept ${limits.eventRetentionDays} days`],
    [
      'Logged requests',
      `kept ${limits.requestRetentionDays} days; ${limits.requestBodyLength / 1024} KiB of each body`,
    ],
    [
      'Refused cards',
      `${limits.refusedCards.count} in ${limits.refusedCards.windowSeconds / 60} minutes: of one address with a publishable key, of one ` +
        `customer and of one card with a secret key; ${limits.refusedCardsOfCompany.count.toLocaleString('en')} of one company with secret keys`,
    ],
    ['Presigned image link', `${limits.imageUrlTtlSeconds / 60} minutes`],
    ['Names, SKU, company, category, brand, material, weight', `${limits.textLength} characters`],
    ['E-mail address', `${limits.emailLength} characters`],
    ['Description', `${limits.descriptionLength.toLocaleString('en')} characters`],
    ['Phone', `${limits.phoneLength} characters, 7 to 15 digits`],
    [
      'Metadata',
      `${limits.metadataKeys} keys of ${limits.metadataKeyLength} characters, ${limits.metadataDepth} levels, ${limits.metadataBytes / 1024} KiB`,
    ],
    ['Tags of a customer', `${limits.tags} of ${limits.tagLength} characters`],
    ['Price', `0 to ${limits.amountCentsMax.toLocaleString('en')} cents`],
    ['Return window', `0 to ${limits.returnWindowDaysMax} days`],
    ['Page size', `${limits.pageSize} by default, 1 to ${limits.pageSizeMax}`],
    [
      'Idempotency key',
      `1 to ${limits.idempotencyKeyLength} of A-Z a-z 0-9 _ -; remembered ${limits.idempotencyKeyHours} hours`,
    ],
    ['Requests', `per company, see the SVC_RATE_LIMIT settings in [configuration](configuration.md)`],
  ];
  return `${note}

# Limits, permissions and versions

${table(['What', 'Limit'], rows)}

## Permissions of a key

${permissions.map((permission) => `\`${permission}\``).join(', ')}.

A key stores its own list; a permission that is added later is not gained by existing keys.

\`expand\` needs the permission to read what it adds: \`GET /v1/orders?expand=customer\` needs \`customers:read\` beside
\`orders:read\`, otherwise it is 403 \`insufficient_permissions\`. The API reference names the permission of each expansion.

Some permissions show or allow more than their names say. Grant them with that in mind:

${table(
  ['Permission', 'What it includes'],
  Object.entries(permissionNotes).map(([permission, text]) => [`\`${permission}\``, text]),
)}

## Versions

${supportedVersions.map((version) => `\`${version}\``).join(', ')}; the first is the default for new companies.
`;
}

export const pages: Readonly<Record<string, () => string>> = {
  'docs/cli.md': () => commandsPage(note),
  'docs/configuration.md': configurationPage,
  'docs/errors.md': errorsPage,
  'docs/limits.md': limitsPage,
};

export async function outdatedPages(): Promise<string[]> {
  const outdated: string[] = [];
  for (const [file, write] of Object.entries(pages)) {
    const present = await readFile(new URL(`../${file}`, import.meta.url), 'utf8').catch(() => '');
    if (present !== write()) outdated.push(file);
  }
  return outdated;
}

if (import.meta.main) {
  for (const file of await outdatedPages()) {
    await writeFile(new URL(`../${file}`, import.meta.url), pages[file]?.() ?? '');
    console.log(`wrote ${file}`);
  }
}
