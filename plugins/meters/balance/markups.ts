/**
 * What is charged above or below the vendor's price: by account, key or model, as a percentage of every rate
 * and fee, as a fixed sum for each call, or both. The rule becomes part of the price before a call reserves,
 * so that reservation, charge and audit use the same rates, which are exact. Operators set rules while
 * gateways run: one document of the ledger, which every process reads again every few seconds. There is one
 * rule for each account, key and model that a rule names.
 */
import { z } from 'zod';
import {
  GatewayError,
  getMessage,
  toOneLine,
  type Host,
  addDecimals,
  formatUsd,
  getRate,
  mapRates,
  multiplyDecimals,
  parseUsd,
  shiftDecimal,
  usd,
  type Offer,
  type Price,
  type Principal,
  type Table,
  type Target,
} from '../../../core/index.ts';
import { roles } from '../../shared/operations.ts';
import { readInput } from '../../shared/operator-routes.ts';
import type { Flags, Verbs } from '../../shared/operator-verbs.ts';
import type { Replies } from '../../shared/replies/routes.ts';
import { rememberVendorPrice } from '../../shared/vendor-price.ts';
import { requireBalance } from './operator/accounts.ts';
import { findKey, findKeys } from './operator/key-records.ts';
import { defineOperation, namedKey, type Ledger } from './operator/operation.ts';
import { checkModelPatterns, modelPattern } from './operator/reading.ts';
import type { Store } from './store.ts';

/** A percentage with at most four decimals, as millionths: `"10"` → 100000n. */
const percent = z
  .string('a percentage is a decimal string, as "12.5"')
  .regex(
    /^-?\d{1,5}(\.\d{1,4})?$/,
    'a percentage is a decimal string below 100000 with at most four decimals, as "12.5"',
  )
  .transform((text) => parseUsd(text) / 100_000n)
  .refine((millionths) => millionths >= -1_000_000n, 'a discount is at most "-100"');

const fixed = usd.refine((nano) => nano >= 0n, 'must not be negative');

const selectors = {
  account: z.string().min(1).max(128).optional(),
  /** The id of a key. The rule is for the keys that replace it, too. */
  key: z.string().min(1).max(64).optional(),
  /** The id of a model, or the beginning of ids followed by a star. */
  model: z
    .string()
    .regex(/^[^\s*]+\*?$/, 'a model is named <owner>/<name>, or <owner>/*')
    .max(200)
    .optional(),
};

const selectorSchema = z.strictObject(selectors);

export const markupSchema = z
  .strictObject({ ...selectors, percent: percent.optional(), fixed: fixed.optional() })
  .refine((rule) => rule.percent !== undefined || rule.fixed !== undefined, 'needs "percent" or "fixed"');

export type MarkupInput = z.input<typeof markupSchema>;
type Markup = z.output<typeof markupSchema>;

function matchesCall({ account, key, model }: Markup, principal: Principal, id: string): boolean {
  return (
    (account === undefined || account === principal.account) &&
    (key === undefined || key === principal.key || key === principal.root) &&
    (model === undefined || (model.endsWith('*') ? id.startsWith(model.slice(0, -1)) : id === model))
  );
}

/** How specific a rule is: a key counts more than an account, and an account more than any model. */
function computeWeight({ account, key, model }: Markup): number {
  const ofModel = model?.endsWith('*') ? model.length : 1000;
  return (key ? 10_000 : 0) + (account ? 5000 : 0) + (model ? ofModel : 0);
}

/** The rule for a call: the most specific one, and the first among equals. */
export function findMarkup(
  rules: readonly Markup[],
  principal: Principal,
  model: string,
): Markup | undefined {
  let found: Markup | undefined;
  for (const rule of rules)
    if (matchesCall(rule, principal, model) && (!found || computeWeight(rule) > computeWeight(found)))
      found = rule;
  return found;
}

/**
 * A price with a rule. The fixed sum is part of the fee for each call. The call's sum is rounded once, as
 * without a markup.
 */
export function markPrice(price: Price, { percent: millionths = 0n, fixed: sum = 0n }: Markup): Price {
  const times = shiftDecimal(String(1_000_000n + millionths), -6);
  const marked = mapRates(price, (rates) =>
    rates.map((each) => ({ ...each, rate: multiplyDecimals(each.rate, times) })),
  );
  const whole = sum === 0n ? marked : addFee(marked, formatUsd(sum));
  rememberVendorPrice(whole, price);
  return whole;
}

/** Adds to the fee for a request, at all times: modes and tiers have none of their own. */
function addFee(price: Price, sum: string): Price {
  const add = ({ rates }: Table): Pick<Table, 'rates'> => {
    const [others, own] = [rates.filter(({ unit }) => unit !== 'request'), getRate({ rates }, 'request')];
    return { rates: [...others, { unit: 'request', rate: addDecimals(own ?? '0', sum) }] };
  };
  return {
    ...price,
    ...add(price),
    ...(price.rules && { rules: price.rules.map((rule) => ({ ...rule, ...add(rule) })) }),
  };
}

/** The rules in force, and the prices that they make, each made once: all calls of a rule share it. */
export class Markups {
  readonly #prices = new WeakMap<Markup, WeakMap<Price, Price>>();
  #rules: readonly Markup[] = [];

  /** Of equal rules the first wins. */
  setRules(rules: readonly Markup[]): void {
    this.#rules = rules;
  }

  applyRules(targets: readonly Target[], principal: Principal): readonly Target[] {
    if (this.#rules.length === 0) return targets;
    return targets.map((target) => {
      const rule = findMarkup(this.#rules, principal, target.model.id);
      return rule ? { ...target, ...this.#mark(rule, target) } : target;
    });
  }

  #mark(rule: Markup, offer: Offer): Pick<Offer, 'price' | 'findServed'> {
    const findServed = (upstream: string): Offer | undefined => {
      const served = offer.findServed?.(upstream);
      return served && { ...served, ...this.#mark(rule, served) };
    };
    return { price: this.#getPrice(rule, offer.price), findServed };
  }

  #getPrice(rule: Markup, price: Price): Price {
    let known = this.#prices.get(rule);
    if (!known) this.#prices.set(rule, (known = new WeakMap()));
    let marked = known.get(price);
    if (!marked) known.set(price, (marked = markPrice(price, rule)));
    return marked;
  }
}

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

/** Removes the rules of an account. */
export async function eraseMarkups(store: Store, account: string): Promise<void> {
  const isOf = (rule: MarkupInput): boolean => rule.account === account;
  if ((await readStored(store)).rules.some(isOf))
    await editRules(store, (rules) => rules.filter((rule) => !isOf(rule)));
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
