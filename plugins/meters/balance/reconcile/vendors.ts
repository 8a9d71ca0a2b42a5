/**
 * What vendors export of their bills, line by line: OpenAI's and Anthropic's APIs of usage and costs and the
 * CSV files of their consoles, and Google's cost table and billing export.
 */

/** Cells by the names of their columns: `Usage amount` and `usage.amount` are `usage_amount`. */
export type Row = Readonly<Partial<Record<string, string>>>;

/** What is particular to a vendor in a row. */
interface Item {
  /** The model in the vendor's words, or what else is billed. */
  readonly model: string;
  /** Whether it is billed without a model, as a search is. */
  readonly isTool?: boolean;
  readonly input?: number;
  readonly output?: number;
}

export interface Api {
  readonly url: string;
  /** The variable with the admin key. */
  readonly variable: string;
  readonly paths: readonly string[];
  getHeaders(key: string): Record<string, string>;
  /** The parameters of a period; `to` is the first day after it. */
  getPeriod(from: string, to: string): Record<string, string>;
}

export interface Vendor {
  /** The providers whose calls it bills. */
  readonly providers: readonly string[];
  /** Undefined: the row is about something else. */
  readItem(row: Row): Item | undefined;
  /** The name of a model, if possible one of the ledger's; `toName` unless given. */
  findName?(model: string, known: Iterable<string>): string;
  readonly api?: Api;
}

/** One of these is a column of every export. */
export const dayFields = 'start_time starting_at usage_date_utc usage_start_date usage_start_time'.split(' ');
const dollarFields = 'amount_value cost_usd unrounded_cost unrounded_subtotal cost'.split(' ');

/** Numbers of JSON may have exponents, and files of Google have commas between thousands. */
function readNumber(text: string, least: number, what: string): number {
  const number = Number(text.replaceAll(',', ''));
  if (number >= least && number < 1e15) return number;
  throw new Error(`"${text.slice(0, 40)}" is no ${what}`);
}

const readCount = (text: string): number => readNumber(text, 0, 'count of tokens');

/** The date of a date, a time, or seconds since the epoch. */
function toDay(text: string): string {
  const isSeconds = /^\d{9,11}$/.test(text);
  const day = (isSeconds ? new Date(Number(text) * 1000).toISOString() : text).slice(0, 10);
  if (/^\d{4}-\d\d-\d\d$/.test(day) && Date.parse(day) > 0) return day;
  throw new Error(`"${text.slice(0, 40)}" is no day`);
}

/** Undefined: the row is empty, or about something else. Costs below 4 million USD are exact. */
export function readLine(row: Row, vendor: Vendor) {
  const find = (names: readonly string[]): string => names.map((name) => row[name]).find(Boolean) ?? '';
  const cells = Object.entries(row);
  const sumUp = (kind: string): number =>
    cells.reduce((sum, [name, cell = '']) => sum + (name.includes(kind) ? readCount(cell) : 0), 0);
  const item = vendor.readItem(row);
  // Anthropic's API states cents.
  const [dollars, cents = ''] = [find(dollarFields), row.amount];
  const counts = { input: sumUp('input_tokens'), output: sumUp('output_tokens') };
  if (!item || (!dollars && !cents && counts.input + counts.output === 0)) return undefined;
  const [start, currency] = [find(dayFields), find(['amount_currency', 'currency'])];
  if (!/^(usd)?$/i.test(currency))
    throw new Error(`the bill is in ${currency.slice(0, 20)}: only bills in USD can be compared`);
  const amount = readNumber(dollars || cents, -1e15, 'amount') / (dollars ? 1 : 100);
  return {
    ...counts,
    ...item,
    day: toDay(start),
    /** The last day, if the line is about several. */
    until: toDay(row.usage_end_date || start),
    // Google's console has days of Pacific time, and its export to BigQuery times in UTC.
    zone: row.usage_start_date ? 'America/Los_Angeles' : 'UTC',
    cost: dollars || cents ? BigInt(Math.round(amount * 1e9)) : undefined,
  };
}

export type BillLine = NonNullable<ReturnType<typeof readLine>>;

/**
 * The same for a vendor's name and ours: `gpt-5.4-2026-03-05` and `gpt-5.4`, `Claude Haiku 4.5` and
 * `claude-haiku-4-5-20251001`. Versions of one model are compared as one.
 */
export function toName(model: string): string {
  return model
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/-20\d\d-?\d\d-?\d\d$/, '')
    .replace(/-(preview(-\d\d-\d{2,4})?|latest|\d{3,4})$/, '')
    .replace(/^claude-(\d)(-\d)?-(opus|sonnet|haiku)$/, 'claude-$3-$1$2');
}

const toSeconds = (day: string): string => String(Date.parse(day) / 1000);

const openai: Vendor = {
  providers: ['openai'],
  // Items read `gpt-5.4-2026-03-05, cached input`, `priority | gpt-5.4, output` or `web search tool calls`.
  readItem({ line_item: item = '', model = '' }) {
    if (item === '') return { model };
    const isTool = !item.includes(',');
    return { model: isTool ? item : item.replace(/^\w+ \| /, '').replace(/[ ,].*/, ''), isTool };
  },
  api: {
    url: 'https://api.openai.com/v1/organization',
    variable: 'OPENAI_ADMIN_KEY',
    paths: [
      'costs?group_by[]=line_item',
      'usage/completions?group_by[]=model',
      'usage/embeddings?group_by[]=model',
    ],
    getHeaders: (key) => ({ authorization: `Bearer ${key}` }),
    getPeriod: (from, to) => ({ start_time: toSeconds(from), end_time: toSeconds(to) }),
  },
};

const anthropic: Vendor = {
  providers: ['anthropic'],
  readItem({ model, model_version: version = '', cost_type: type = 'token', description = type }) {
    const isTool = !type.startsWith('token');
    return { model: isTool ? description : model || version, isTool };
  },
  api: {
    url: 'https://api.anthropic.com/v1/organizations',
    variable: 'ANTHROPIC_ADMIN_KEY',
    paths: ['cost_report?group_by[]=description', 'usage_report/messages?group_by[]=model'],
    getHeaders: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    getPeriod: (from, to) => ({ starting_at: `${from}T00:00:00Z`, ending_at: `${to}T00:00:00Z` }),
  },
};

const google: Vendor = {
  providers: ['google', 'google-vertex'],
  readItem(row) {
    const { service_description: service = '', sku_description: sku = '', credit_type: credit = '' } = row;
    const { cost_type: type = '', usage_unit: unit = '', usage_amount: used = '' } = row;
    // A bill has lines of machines and storage, of credits and of taxes too.
    const isOfModels = /gemini|generative language|vertex ai|agent platform/i.test(service);
    if (!isOfModels || credit !== '' || !/^(usage|regular)?$/i.test(type)) return undefined;
    const isCounted = /token|predictions/i.test(sku) && !/storage|hour/i.test(sku + unit);
    const counts = isCounted && { [/output/i.test(sku) ? 'output' : 'input']: readCount(used) };
    return { model: sku, isTool: !/gemini|claude|token/i.test(sku), ...counts };
  },
  /** Its units read `Generate content output token count gemini 3.5 flash lite text`. */
  findName(sku, known) {
    const text = `-${toName(sku)}-`;
    const [base = ''] = /gemini(-\d+){1,2}(-(pro|flash|ultra))?(-lite)?(?=-)/.exec(text) ?? [];
    const found = [...known].filter((name) => name.startsWith(base) && text.includes(`-${name}-`));
    return found.toSorted((one, other) => other.length - one.length)[0] ?? (base || toName(sku));
  },
};

export const vendors: ReadonlyMap<string, Vendor> = new Map(Object.entries({ openai, anthropic, google }));
