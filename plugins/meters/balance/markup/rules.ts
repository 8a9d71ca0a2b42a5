/**
 * The markup rules that operators set while gateways run: one document of the ledger, which every process
 * reads again every few seconds. There is one rule for each account, key and model that a rule names.
 */
import { z } from 'zod';
import { GatewayError, getMessage, toOneLine, type Host } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import type { Flags, Verbs } from '../../../shared/operator-verbs.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { requireBalance } from '../operator/accounts.ts';
import { findKey, findKeys } from '../operator/key-records.ts';
import { checkModelPatterns } from '../operator/model-patterns.ts';
import { defineOperation, namedKey, type Ledger } from '../operator/operation.ts';
import { modelPattern } from '../operator/reading.ts';
import type { Store } from '../store.ts';
import {
  markupSchema,
  selectorSchema,
  type Markup,
  type MarkupInput,
  type Markups,
} from './marked-prices.ts';

const documentName = 'markups';
const mostRules = 10_000;
const mostTries = 20;

/**
 * The rules are stored as they were written, since they are read by the same schema. A wrong one, which
 * another version may have written, is read too, so that operators can see and remove it.
 */
const storedSchema = z.array(z.custom<MarkupInput>((rule) => typeof rule === 'object' && rule !== null));

async function readStored(store: Store): Promise<{ version: number; rules: MarkupInput[] }> {
  const found = await store.readDocument(documentName);
  try {
    return { version: found?.version ?? 0, rules: storedSchema.parse(found ? JSON.parse(found.text) : []) };
  } catch (cause) {
    throw new Error('the markups in the ledger are not a list of rules: restore a backup of it', { cause });
  }
}

/** Throws if a stored rule is wrong, with its name, what is wrong, and how to replace it. */
export async function checkMarkups(store: Store): Promise<void> {
  for (const rule of (await readStored(store)).rules) parseRule(rule);
}

function parseRule(rule: MarkupInput): Markup {
  try {
    return readInput(markupSchema, rule);
  } catch (cause) {
    const { account, key, model } = rule;
    const options = Object.entries({ account, key, model }).flatMap(([name, value]) =>
      value === undefined ? [] : [` --${name} '${value}'`],
    );
    throw new Error(
      `the markup of ${describeSubject(rule)} in the ledger is wrong: ${getMessage(cause)}; ` +
        `remove it with \`tollgate markups remove${options.join('')}\`, and set it again`,
      { cause },
    );
  }
}

type Selector = z.output<typeof selectorSchema>;

/** A rule whose key is named by the first of its line: rotations replace keys, and the rule stays. */
async function nameRoot<Rule extends Selector>(store: Store, rule: Rule): Promise<Rule> {
  if (rule.key === undefined) return rule;
  const [record, other] = await findKeys(store, rule.key);
  return record && !other ? { ...rule, key: record.root } : rule;
}

function isForSelector(rule: MarkupInput, { account, key, model }: Selector): boolean {
  return rule.account === account && rule.key === key && rule.model === model;
}

async function editRules(
  store: Store,
  change: (rules: MarkupInput[]) => MarkupInput[],
): Promise<MarkupInput[]> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { version, rules } = await readStored(store);
    const changed = change(rules);
    const text = JSON.stringify(changed);
    if (await store.writeDocument({ name: documentName, text, replaces: version })) return changed;
  }
  throw new GatewayError('conflict', 'the markups are being changed by others: try again');
}

/** Rules that are stored or configured may name a model without its owner; they apply to nothing. */
const modelOrder = z.object({ model: modelPattern.optional() });

/** Milliseconds in which a change reaches every process. */
const lookEvery = 2000;

/**
 * Reads the rules now and every few seconds; they win over equal ones of the configuration. Rejects if the
 * first reading fails. Returns how to stop.
 */
export async function followMarkups(
  store: Store,
  { markups, configured }: { readonly markups: Markups; readonly configured: readonly Markup[] },
  logger: Host['logger'],
): Promise<() => void> {
  const own = await Promise.all(configured.map((rule) => nameRoot(store, rule)));
  let [seen, isAway] = [-1, false];
  const look = async (): Promise<void> => {
    const { version, rules } = await readStored(store);
    if (version !== seen) markups.setRules([...rules.map(parseRule), ...own]);
    [seen, isAway] = [version, false];
  };
  await look();
  const logFailure = (error: unknown): void => {
    // An outage is logged only once.
    if (!isAway) logger.warn({ error }, 'the markups could not be read');
    isAway = true;
  };
  const timer = setInterval(() => void look().catch(logFailure), lookEvery).unref();
  return () => clearInterval(timer);
}

function describeSubject({ account, key, model }: MarkupInput): string {
  const named = Object.entries({ account, key, model }).filter(([, value]) => value !== undefined);
  return toOneLine(named.map(([name, value]) => `${name} ${value}`).join(', ')) || 'all calls';
}

function formatMarkup(rule: MarkupInput): string {
  const { percent, fixed } = rule;
  const charge = [percent !== undefined && `${percent} %`, fixed !== undefined && `${fixed} USD a call`];
  return `${describeSubject(rule)}: ${charge.filter((part) => part !== false).join(' and ')}`;
}

function formatMarkups({ data }: Replies['GET /admin/markups']): string {
  return data.map(formatMarkup).join('\n') || 'There are no markups.';
}

const subjects: Flags = {
  '--account <name>': 'for calls of this account',
  '--key <key>': `for calls by this key, named ${namedKey}`,
  '--model <id>': 'for this model; <owner>/* is all of an owner',
};

const listing = defineOperation({
  route: 'GET /admin/markups',
  summary: 'List the markups that operators have set',
  roles: roles.read,
  run: async ({ store }) => ({ data: (await readStored(store)).rules }),
  verbs: { 'markups list': { format: formatMarkups } },
});

const setting = defineOperation({
  route: 'POST /admin/markups',
  summary: 'Set the markup for an account, a key, a model, or some of them together',
  roles: roles.correct,
  statuses: [201],
  input: markupSchema,
  /** Throws if the rule is wrong, or if it could never apply. It is stored as it was written. */
  async run({ store, offer }, { account, key }, _, { input }) {
    const { model } = readInput(modelOrder, input);
    await checkModelPatterns(model === undefined ? [] : [model], offer, 'model');
    if (account !== undefined) await requireBalance(store, account);
    if (key !== undefined) await findKey(store, key);
    const written = await nameRoot(store, z.custom<MarkupInput>().parse(input));
    await editRules(store, (rules) => {
      const others = rules.filter((rule) => !isForSelector(rule, written));
      if (others.length >= mostRules)
        throw new GatewayError('invalid_request', `there are at most ${mostRules} markups`);
      return [...others, written];
    });
    return written;
  },
});

export const markupOperations = [
  listing,
  setting,
  defineOperation({
    route: 'DELETE /admin/markups',
    summary: 'Remove the markup for exactly these',
    roles: roles.correct,
    input: selectorSchema,
    async run({ store }, selector) {
      const wanted = await nameRoot(store, selector);
      const data = await editRules(store, (rules) => {
        const left = rules.filter((rule) => !isForSelector(rule, wanted));
        if (left.length === rules.length)
          throw new GatewayError(
            'not_found',
            'there is no such markup; `markups list` shows those there are',
          );
        return left;
      });
      return { data };
    },
    verbs: { 'markups remove': { flags: subjects, format: formatMarkups } },
  }),
];

export const markupVerbs: Verbs<Ledger> = {
  'markups set': {
    description: 'charge more or less than the vendor, for an account, a key or a model',
    flags: {
      ...subjects,
      '--percent <percent>': 'above the vendor’s price; -10 is a discount',
      '--fixed <usd>': 'USD for each call',
    },
    async run({ call }, { input }) {
      await call(setting, { input });
      const found = await call(listing);
      return { json: found.data, text: formatMarkups(found) };
    },
  },
};
