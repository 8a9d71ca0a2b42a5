/** What operators do about people who sign in: list them, remove one, and let one back in. */
import { z } from 'zod';
import { GatewayError, type Command, type Route, type TableStore } from '../../../core/index.ts';
import { createDefiner, listOperationRoutes, roles } from '../../shared/operations.ts';
import { buildCommands, findCommandAuthor, listVerbs } from '../../shared/operator-verbs.ts';
import type { Replies } from '../../shared/replies/routes.ts';
import { formatTable } from '../../shared/table.ts';
import { declaration, People, type PersonRow } from './people.ts';

interface Context {
  /** Runs work with the tables open. */
  use<Result>(work: (people: People) => Promise<Result>): Promise<Result>;
  readonly author: string;
  /** Brings a person's keys in line; a command leaves that to the gateways. */
  settle?(person: PersonRow): Promise<void>;
}

type Person = Replies['GET /admin/people']['data'][number];

function describePerson({ id, name, holder, role, accounts, state, checked, created }: PersonRow): Person {
  const [seen, since] = [checked, created].map((at) => new Date(at).toISOString());
  return { id, name, holder, role, accounts, state, checked: seen ?? '', created: since ?? '' };
}

async function findPerson(people: People, wanted: string): Promise<PersonRow> {
  const [person, other] = await people.find(wanted);
  if (!person) throw new GatewayError('not_found', `there is no person "${wanted.slice(0, 200)}"`);
  if (other) throw new GatewayError('conflict', `several people are named "${wanted}": name one by the id`);
  return person;
}

function changeState(context: Context, wanted: string, state: PersonRow['state']): Promise<Person> {
  const { use, author } = context;
  return use(async (people) => {
    const person = { ...(await findPerson(people, wanted)), state, author };
    await people.setState(person.id, state, author);
    await context.settle?.(person);
    return describePerson(person);
  });
}

function formatPeople(people: readonly Person[]): string {
  if (people.length === 0) return 'Nobody has signed in.';
  return formatTable(
    ['PERSON', 'NAME', 'ROLE', 'ACCOUNTS', 'STATE', 'CHECKED'],
    people.map(({ id, name, role, accounts, state, checked }) => [
      id,
      name,
      role,
      accounts.join(', '),
      state,
      checked,
    ]),
  );
}

const defineOperation = createDefiner<Context>();
const named = 'by the id, the name or the holder of their keys';

const operations = [
  defineOperation({
    route: 'GET /admin/people',
    summary: 'List the people who have signed in',
    roles: roles.read,
    input: z.strictObject({
      after: z.string().max(200).default(''),
      limit: z.coerce.number().int().min(1).max(1000).default(100),
    }),
    run: ({ use }, { after, limit }) =>
      use(async (people) => {
        const found = await people.list(after, limit);
        const next = found.length === limit ? (found.at(-1)?.id ?? null) : null;
        return { data: found.map(describePerson), next };
      }),
    verbs: { 'people list': { all: true, format: ({ data }) => formatPeople(data) } },
  }),
  defineOperation({
    route: 'DELETE /admin/people/:person',
    summary: `Remove a person, ${named}: their sessions end and their keys are disabled`,
    details: 'They cannot sign in again until they are restored.',
    roles: roles.admit,
    run: (context, _, { person }) => changeState(context, person, 'removed'),
    verbs: {
      'people remove <person>': {
        ask: async (_, { args }) => `Remove ${args.person}? Their sessions end, and their keys are disabled.`,
        format: ({ holder }) => `Removed ${holder}. Their keys are disabled within half a minute.`,
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/people/:person/restore',
    summary: `Let a removed person sign in again, ${named}`,
    roles: roles.admit,
    run: (context, _, { person }) => changeState(context, person, 'active'),
    verbs: { 'people restore <person>': { format: ({ holder }) => `${holder} may sign in again.` } },
  }),
];

/** The routes and verbs. `store` keeps the tables, in a gateway and on the command line. */
export function listPeopleOperations(
  store: () => TableStore,
  settle: NonNullable<Context['settle']>,
): { routes: Route[]; commands: Command[] } {
  const use: Context['use'] = async (work) => {
    const done = store().use?.(declaration, (tables) => work(new People(tables)));
    if (done) return done;
    throw new Error('the store of the ledger cannot be opened for this');
  };
  const open = async () => ({
    getContext: () => ({ use, author: findCommandAuthor() }),
    close: async () => undefined,
  });
  return {
    routes: listOperationRoutes(operations, (_operation, _request, { key: author }) => ({
      use,
      author,
      settle,
    })),
    commands: buildCommands(listVerbs(operations), open, { people: 'list and remove people who sign in' }),
  };
}
