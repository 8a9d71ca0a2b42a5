/**
 * The events of which operators get notices: how severe each is, and what it says of which facts. Names that
 * others chose cannot be links; channels escape what has a meaning in their own markup.
 */
import { hideSecrets, toOneLine, type Notice, type Notices } from '../../../core/index.ts';

interface Event extends Pick<Notice, 'severity' | 'title' | 'isUrgent'> {
  /** Sentences, with the names of facts in braces. */
  readonly text: readonly string[];
}

/** Amounts are decimal strings in USD, and dates ISO days. */
const events = {
  'balance.low': {
    severity: 'warning',
    title: 'A balance is low',
    text: [
      'The account “{account}” has {left} USD left, less than {limit}.',
      'Add credit before its calls are refused.',
    ],
  },
  'budget.exhausted': {
    severity: 'critical',
    title: 'A budget refuses calls',
    text: ['The budget {id} refuses calls of the {scope} “{name}”: {used} of {allowed} USD are used {when}.'],
  },
  'budget.threshold': {
    severity: 'warning',
    title: 'A budget is nearly used up',
    text: [
      'The budget {id} has reached {threshold} % of the {scope} “{name}”:',
      '{used} of {allowed} USD are used {when}.',
    ],
  },
  'key.expires': {
    severity: 'warning',
    title: 'A key expires soon',
    text: ['The key “{name}” ({id}) expires on {expires}.', 'Rotate it or give it more time.'],
  },
  'ledger.audit': {
    severity: 'critical',
    title: 'The books break a rule',
    text: ['The audit found {findings} faults.', '`tollgate audit` lists them.'],
  },
  'ledger.unreachable': {
    severity: 'critical',
    title: 'The ledger cannot be used',
    isUrgent: true,
    text: [
      'The gateway on “{machine}” cannot use its ledger and refuses all calls: {reason}.',
      'Check its disk or database server.',
    ],
  },
  'model.on_fallback': {
    severity: 'warning',
    title: 'A model lives on its fallback',
    text: [
      'For {minutes} minutes {first} has answered no call for “{model}”, and {others} answers instead.',
      'See the providers page for its errors.',
    ],
  },
  'model.retires': {
    severity: 'warning',
    title: 'A model retires soon',
    text: ['The model “{model}” is served until {expires}, and clients call it.', '{advice}'],
  },
  'price.feed_failed': {
    severity: 'warning',
    title: 'The price feed fails',
    text: ['The price feed “{source}” could not be applied, and prices stay as they are: {reason}'],
  },
  'price.held': {
    severity: 'warning',
    title: 'New prices wait for you',
    text: ['The price update {update} of {models} models is held back.', '`tollgate prices list` shows it.'],
  },
  'price.missing': {
    severity: 'info',
    title: 'Models have no price',
    text: [
      '{provider} has models that are not offered, because nothing states their price: {models}.',
      'The options "price" and "models" of the provider state one.',
    ],
  },
  'provider.key_refused': {
    severity: 'critical',
    title: 'A provider refuses our key',
    text: [
      '{provider} answers {status} to key {key}, for {models}.',
      'Replace the key, or check its rights and its credit.',
    ],
  },
} as const satisfies Record<string, Event>;

export type EventName = keyof typeof events;

type FactName<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | FactName<Rest> : never;

/** What a notice of an event is about, beside its subject: what its text names, and more for programs. */
type Facts<Name extends EventName> = Readonly<
  Record<FactName<(typeof events)[Name]['text'][number]>, string | number | readonly string[]> &
    Record<string, unknown>
>;

/** A fact on one line, which no reader turns into a link. Of a list, which may be long, the first ones. */
function formatFact(fact: unknown, most = 200): string {
  if (!Array.isArray(fact))
    return hideSecrets(toOneLine(String(fact)))
      .replaceAll('://', ':')
      .slice(0, most);
  const more = fact.length > 5 ? ` and ${fact.length - 5} more` : '';
  const first = fact.slice(0, 5).map((each) => `“${formatFact(each, 100)}”`);
  return first.join(', ') + more;
}

function formatText(text: Event['text'], facts: object): string {
  const known = new Map<string, unknown>(Object.entries(facts));
  return text.join(' ').replaceAll(/\{(\w+)\}/g, (_, name) => formatFact(known.get(String(name))));
}

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
  facts: Facts<Name>,
): Promise<boolean> {
  const { text, isUrgent = false, ...kind }: Event = events[event];
  const said = formatText(text, facts);
  return notices.raise({ ...kind, isUrgent, event, subject, period, text: said, accounts, facts });
}

/** Tells operators that it is over. */
export function resolveNotice(notices: Notices, event: EventName, subject: string): void {
  notices.resolve(event, subject);
}
