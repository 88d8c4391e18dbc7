import { exitCodes } from '../cli/command-error.ts';
import { type Command, groups, objectsGroup } from '../cli/commands.ts';
import { called, footer, optionText } from '../cli/help.ts';
import type { Operation } from '../cli/operations.ts';
import { operatorCommands } from '../cli/operator-commands.ts';
import { declarationOf } from '../cli/options.ts';
import { commandOperations } from './command-operations.ts';

/** docs/cli.md. The tests of the guides run its samples. */

/** The commands that need no machine of the service, without those of the API. */
function anywhere(): string {
  const operators = new Set(Object.values(operatorCommands).flat());
  const others = Object.entries(groups).flatMap(([title, commands]) =>
    title === objectsGroup ? [] : commands.filter((command) => !operators.has(command)),
  );
  return others.map(({ name }) => `\`${name}\``).join(', ');
}

const exitRows = (): string =>
  Object.values(exitCodes)
    .map(([code, meaning]) => `| ${code} | ${meaning} |`)
    .join('\n');

function commandSection(command: Command): string {
  const rows = (command.options ?? []).map(
    (name) => `| \`${optionText(name).replaceAll('|', '\\|')}\` | ${declarationOf(name).describe} |`,
  );
  return [
    `### \`svc ${called(command)}\``,
    '',
    `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}.${command.more ? ` ${command.more}` : ''}`,
    ...(rows.length > 0 ? ['', '| Option | Meaning |', '| --- | --- |', ...rows] : []),
    ...(command.examples ? ['', ...command.examples.map((example) => `    ${example}`)] : []),
  ].join('\n');
}

const operationRow = ({ name, ids, summary, method, path }: Operation): string =>
  `| \`${[name, ...ids].join(' ')}\` | ${summary} | \`${method} ${path}\` |`;

const operationTable = (): string =>
  ['| Command | What it does | Request |', '| --- | --- | --- |', ...commandOperations.map(operationRow)].join('\n');

const tour = `## Log in

\`\`\`sh
svc login --base-url https://pay.example.com
\`\`\`

The command asks for a secret key without showing it, or reads it from standard input: \`svc login < key.txt\`. It asks the service whether the key works, and keeps it
with the address as a **profile**, in a file that only you can read. It never prints the key. Without \`--profile\`, the name of the profile is \`default\`.

\`\`\`sh run
printf %s "$SVC_KEY" | svc login --profile sandbox --base-url "$SVC_URL"
svc profiles list
\`\`\`

\`--profile NAME\` or \`SVC_PROFILE\` chooses a profile. Otherwise a command uses \`SVC_URL\` and \`SVC_KEY\`, then the profile \`default\`, then the demo company of the service on this machine.
The key of the profile \`default\` is not sent to an address of \`--base-url\` or \`SVC_URL\`. \`svc logout\` removes a profile.

## Work with objects

\`svc RESOURCE ACTION\` sends a request of the [API](/docs/api/). The fields of a request are options: \`first_name\` is \`--first-name\`. The fields of an object in it follow after a dot.

\`\`\`sh run
svc customers create --email ada@example.com --first-name Ada --last-name Lovelace --phone +15550001111 --shipping-address.line1 '12 St James Square' --shipping-address.city London --shipping-address.country GB --metadata.crm_id c-1001 --json > customer.json
CUSTOMER=$(node -p 'JSON.parse(fs.readFileSync("customer.json", "utf8")).id')
svc customers get "$CUSTOMER" --fields email,shipping_address --json
\`\`\`

\`\`\`json expect
{ "email": "ada@example.com", "shipping_address": { "city": "London" } }
\`\`\`

Responses are tables for people, or JSON with \`--json\`. Amounts are whole numbers of cents when you send them. Tables show them with their currency.

| Value | How to give it |
| --- | --- |
| Text, number, \`true\` or \`false\` | \`--name Tea\`, \`--amount 4900\`, \`--active false\` |
| A list | repeat the option: \`--tags new --tags vip\` |
| A field of an object | \`--pricing.amount 4900\` |
| A list of objects | \`--items.0.product-id ID --items.0.quantity 2 --items.1.product-id ID\` |
| Your own data | \`--metadata.crm_id c-1001\`, always text |
| Any of them as JSON | \`--items '[{"product_id": "…"}]'\`, \`--metadata '{"visits": 3}'\` |
| From a file, or from standard input | \`--items @items.json\`, \`--items @-\` |
| The whole body, to which options are added | \`-d '{"phone": null}'\`, \`-d @body.json\`, \`-d @-\` |

\`null\` clears a number, a list or an object. To clear a text, send it in \`-d\`.

\`\`\`sh run
echo '{"amount": 4900, "currency": "usd"}' | svc products create --name Tea --description 'Green tea, 100 g' --sku tea-100 --requires-shipping true --pricing @- --json > product.json
svc orders create --help | head -1
\`\`\`

\`\`\`text expect
svc orders create: Create an order and charge it.
\`\`\`

**Lists** show the newest 20 objects. \`--limit\` shows more or fewer, \`--all\` shows all; both read as many pages as they need. Filters are options too.

\`\`\`sh run
svc customers list --email ada@example.com --fields email,first_name --json
\`\`\`

\`\`\`json expect
[{ "email": "ada@example.com", "first_name": "Ada" }]
\`\`\`

**Repeat safely.** Each request that changes something has a new idempotency key. If the command gets no answer, it prints the key: repeat the request with \`--idempotency-key KEY\`, and it is executed at most once.

**Deletions** ask at a terminal; \`--yes\` deletes without a question. A script is not asked.

\`\`\`sh run
svc customers delete "$CUSTOMER" --yes --json
\`\`\`

\`\`\`json expect
{ "deleted": true }
\`\`\`

## Trigger and resend events

\`\`\`sh run
svc trigger customer.created --override email=hedy@example.com --json > event.json
node -p 'JSON.parse(fs.readFileSync("event.json", "utf8")).data.object.email'
\`\`\`

\`\`\`text expect
hedy@example.com
\`\`\`

\`--override\` sets fields of the object of the event. \`svc events resend EVENT\` sends an event to a [webhook endpoint](webhooks.md) again.

## Exit codes

If a command fails, it prints the reason to standard error and exits with one of these codes. Long commands print their progress to standard error.

| Exit code | Meaning |
| --- | --- |
| 0 | The command succeeded |
${exitRows()}
| 78 | A setting of the service is wrong |

\`\`\`sh run
svc customers get 019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c 2> reason.txt || echo "exit code $?"
svc custmers list 2>&1 || echo "exit code $?"
\`\`\`

\`\`\`text expect
exit code 3
Unknown command "custmers". Did you mean svc customers? \`svc --help\` lists all commands.
exit code 2
\`\`\`

At a terminal, the output has colors. \`NO_COLOR=1\` turns them off, \`FORCE_COLOR=1\` turns them on everywhere.`;

export function commandsPage(note: string): string {
  const sections = Object.entries(groups).map(([title, commands]) => {
    const parts = title === objectsGroup ? [objectsIntro, operationTable()] : commands.map(commandSection);
    return [`## ${title}`, ...parts].join('\n\n');
  });
  return `${note}

# The svc command

Download the command from your service, and run it with Node 20 or newer:

\`\`\`sh run
curl -fsSO "$SVC_URL/sdk/svc.mjs"
svc() { node svc.mjs "$@"; }
svc --version
\`\`\`

See [the SDK and the svc command](sdk.md). This file has the commands that call the API: those for [objects](#objects-of-the-company), and ${anywhere()}. The others open the database. They are part of the service and run on its machine: \`bin/svc\` in a release, \`node cli/svc.ts\` in the sources. Do not run \`npx svc\`: npx would download an unrelated package with that name.

${footer.replaceAll('\n', ' ').replaceAll(/--?[a-z]+|[A-Z]+_[A-Z_]+/g, '`$&`')}

${tour}

${sections.join('\n\n')}
`;
}

const objectsIntro =
  'A command for each request of the API. `svc RESOURCE ACTION --help` lists its fields. `plans list` with `--company` is a command of the operator.';
