/**
 * The events of which operators get notices: how severe each is, what it says, and of what. Names that others
 * chose are quoted and cannot be links; channels escape what has a meaning in their own markup.
 */
import { hideSecrets, toOneLine, type Notice, type Notices } from '../../../core/index.ts';

interface Event<Facts> extends Pick<Notice, 'severity' | 'title' | 'isUrgent'> {
  describe(facts: Facts): string;
}

/** Amounts are decimal strings in USD, and dates ISO days. */
type Texts<Name extends string> = Readonly<Record<Name, string>>;

interface BudgetFacts extends Texts<'scope' | 'name' | 'per' | 'used' | 'allowed'> {
  readonly id: number;
  readonly threshold: number;
}

interface FallbackFacts extends Texts<'model' | 'first'> {
  readonly others: readonly string[];
  readonly minutes: number;
}

interface KeyFacts extends Texts<'provider'> {
  readonly key: number;
  readonly status: number;
  readonly models: readonly string[];
}

/** A name on one line, which no reader turns into a link. */
function quote(name: string): string {
  return `“${toOneLine(name).replaceAll('://', ':').slice(0, 100)}”`;
}

/** The first names of a list, which may be long. */
function quoteAll(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return names.slice(0, 5).map(quote).join(', ') + more;
}

function shorten(reason: string): string {
  return hideSecrets(toOneLine(reason)).slice(0, 200);
}

function describeBudget({ scope, name, per, used, allowed }: BudgetFacts): string {
  const period = per === 'total' ? 'in all' : `in this ${per}`;
  return `of the ${scope} ${quote(name)}: ${used} of ${allowed} USD are used ${period}.`;
}

const events = {
  'balance.low': {
    severity: 'warning',
    title: 'A balance is low',
    describe: ({ account, left, limit }: Texts<'account' | 'left' | 'limit'>) =>
      `The account ${quote(account)} has ${left} USD left, less than ${limit}. Add credit before its calls ` +
      'are refused.',
  },
  'budget.exhausted': {
    severity: 'critical',
    title: 'A budget refuses calls',
    describe: (facts: BudgetFacts) => `The budget ${facts.id} refuses calls ${describeBudget(facts)}`,
  },
  'budget.threshold': {
    severity: 'warning',
    title: 'A budget is nearly used up',
    describe: (facts: BudgetFacts) =>
      `The budget ${facts.id} has reached ${facts.threshold} % ${describeBudget(facts)}`,
  },
  'key.expires': {
    severity: 'warning',
    title: 'A key expires soon',
    describe: ({ id, name, expires }: Texts<'id' | 'name' | 'expires'>) =>
      `The key ${quote(name)} (${id}) expires on ${expires}. Rotate it or give it more time.`,
  },
  'ledger.audit': {
    severity: 'critical',
    title: 'The books break a rule',
    describe: ({ findings }: { readonly findings: number }) =>
      `The audit found ${findings} faults. \`tollgate audit\` lists them.`,
  },
  'ledger.unreachable': {
    severity: 'critical',
    title: 'The ledger cannot be used',
    isUrgent: true,
    describe: ({ machine, reason }: Texts<'machine' | 'reason'>) =>
      `The gateway on ${quote(machine)} cannot use its ledger and refuses all calls: ${shorten(reason)}. ` +
      'Check its disk or database server.',
  },
  'model.on_fallback': {
    severity: 'warning',
    title: 'A model lives on its fallback',
    describe: ({ model, first, others, minutes }: FallbackFacts) =>
      `For ${minutes} minutes ${first} has answered no call for ${quote(model)}, and ${others.join(', ')} ` +
      'answers instead. See the providers page for its errors.',
  },
  'model.retires': {
    severity: 'warning',
    title: 'A model retires soon',
    describe({ model, expires, successor }: Texts<'model' | 'expires'> & { successor: string | undefined }) {
      const next = successor === undefined ? 'Choose another one.' : `Its successor is ${quote(successor)}.`;
      return `The model ${quote(model)} is served until ${expires}, and clients call it. ${next}`;
    },
  },
  'price.feed_failed': {
    severity: 'warning',
    title: 'The price feed fails',
    describe: ({ source, reason }: Texts<'source' | 'reason'>) =>
      `The price feed ${quote(source)} could not be applied, and prices stay as they are: ${shorten(reason)}`,
  },
  'price.held': {
    severity: 'warning',
    title: 'New prices wait for you',
    describe: ({ update, models }: Readonly<Record<'update' | 'models', number>>) =>
      `The price update ${update} of ${models} models is held back. \`tollgate prices list\` shows it.`,
  },
  'price.missing': {
    severity: 'info',
    title: 'Models have no price',
    describe: ({ provider, models }: Texts<'provider'> & { models: readonly string[] }) =>
      `${provider} has models that are not offered, because nothing states their price: ` +
      `${quoteAll(models)}. The options "price" and "models" of the provider state one.`,
  },
  'provider.key_refused': {
    severity: 'critical',
    title: 'A provider refuses our key',
    describe: ({ provider, key, status, models }: KeyFacts) =>
      `${provider} answers ${status} to key ${key}, for ${quoteAll(models)}. Replace the key, or check its ` +
      'rights and its credit.',
  },
} as const satisfies Record<string, Event<never>>;

export type EventName = keyof typeof events;
/** What each event is about, beside its subject. */
type EventFacts = { readonly [Name in EventName]: Parameters<(typeof events)[Name]['describe']>[0] };
const table: { readonly [Name in EventName]: Event<EventFacts[Name]> } = events;

/** Whether a pattern such as `budget.*` names an event. */
export function isEventPattern(pattern: string, event: string): boolean {
  return pattern === event || (pattern.endsWith('.*') && event.startsWith(pattern.slice(0, -1)));
}

/** Whether it can name an event: one of the table, or one of a plugin. */
export function isKnownPattern(pattern: string, plugins: ReadonlySet<string>): boolean {
  const [family = ''] = pattern.split('.');
  return plugins.has(family) || Object.keys(events).some((event) => isEventPattern(pattern, event));
}

/** The day of a moment, as the period of what is told once a day. */
export function nameDay(at = Date.now()): string {
  return new Date(at).toISOString().slice(0, 10);
}

interface About extends Pick<Notice, 'subject' | 'accounts'> {
  /** Today unless given. */
  readonly period?: string;
}

/** Tells operators of an event of the table. Resolves with whether the notice is kept. */
export function raiseNotice<Name extends EventName>(
  notices: Notices,
  event: Name,
  { subject, period = nameDay(), accounts = [] }: About,
  facts: EventFacts[Name],
): Promise<boolean> {
  const { describe, isUrgent = false, ...kind } = table[event];
  return notices.raise({ ...kind, isUrgent, event, subject, period, text: describe(facts), accounts, facts });
}

/** Tells operators that it is over. */
export function resolveNotice(notices: Notices, event: EventName, subject: string): void {
  notices.resolve(event, subject);
}
