/**
 * What vendors export of their bills, line by line: OpenAI's and Anthropic's APIs of usage and costs and the
 * CSV files of their consoles, and Google's cost table and billing export.
 */
import type { Nano } from '../../../../core/index.ts';

/** Cells by the names of their columns: `Usage amount` and `usage.amount` are `usage_amount`. */
export type Row = Readonly<Partial<Record<string, string>>>;

export interface BillLine {
  readonly day: string;
  /** The last day, if the line is about several. */
  readonly until?: string | undefined;
  /** Whose days they are, if not those of UTC. */
  readonly zone?: string | undefined;
  /** The model in the vendor's words, or what else is billed. */
  readonly model: string;
  /** Whether it is billed without a model, as a search is. */
  readonly isTool?: boolean;
  readonly cost?: Nano;
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
  /** Undefined: the row is empty, or about something else. */
  readLine(row: Row): BillLine | undefined;
  /** The name of a model, if possible one of the ledger's. */
  findName(model: string, known: Iterable<string>): string;
  readonly api?: Api;
}

/** An amount in USD or in cents, rounded to a nano-dollar. */
function toNano(text: string, isCents = false): Nano {
  // Numbers of JSON may have exponents, and files of Google have commas between thousands.
  const plain = /e/i.test(text) ? Number(text).toFixed(15) : text.replaceAll(',', '').trim();
  const [, sign, whole, fraction = ''] = /^(-?)(\d{1,15})(?:\.(\d{1,60}))?$/.exec(plain) ?? [];
  if (whole === undefined) throw new Error(`"${text.slice(0, 40)}" is no amount`);
  const parts = 10n ** BigInt(fraction.length) * (isCents ? 100n : 1n);
  const nano = (BigInt(whole + fraction) * 2_000_000_000n + parts) / (parts * 2n);
  return sign === '-' ? -nano : nano;
}

/** The sum of counts; cells may be empty. */
function sumCounts(...cells: readonly (string | undefined)[]): number {
  const counts = cells.map((cell = '') => Number(cell.replaceAll(',', '')));
  if (!counts.every((count) => count >= 0)) throw new Error(`"${cells.join(' ')}" is no count of tokens`);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** One of these is a column of every export. */
export const dayColumns = [
  'start_time',
  'starting_at',
  'usage_date_utc',
  'usage_start_date',
  'usage_start_time',
];

/** The date of a date, a time, or seconds since the epoch. */
function toDay(text = ''): string {
  const isSeconds = /^\d{9,11}$/.test(text);
  const day = isSeconds ? new Date(Number(text) * 1000).toISOString() : text;
  if (/^\d{4}-\d\d-\d\d/.test(day) && Date.parse(day.slice(0, 10)) > 0) return day.slice(0, 10);
  throw new Error(`"${text.slice(0, 40)}" is no day`);
}

const readDay = (row: Row): string => toDay(dayColumns.map((name) => row[name]).find(Boolean));

function requireUsd(currency = ''): void {
  if (currency !== '' && currency.toUpperCase() !== 'USD')
    throw new Error(`the bill is in ${currency.slice(0, 20)}: only bills in USD can be compared`);
}

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

/** Items read `gpt-5.4-2026-03-05, cached input`, `priority | gpt-5.4, output` or `web search tool calls`. */
function readOpenAiLine(row: Row): BillLine | undefined {
  const { amount_value: amount, line_item: item = '', model = '', input_tokens, output_tokens } = row;
  if (!amount && !row.num_model_requests) return undefined;
  const day = readDay(row);
  if (!amount) return { day, model, input: sumCounts(input_tokens), output: sumCounts(output_tokens) };
  requireUsd(row.amount_currency);
  const isTool = !item.includes(',');
  const named = item.replace(/^\w+ \| /, '').replace(/[ ,].*/, '');
  return { day, model: isTool ? item : named, isTool, cost: toNano(amount) };
}

/** Anthropic's API states cents, and the file of the console dollars. */
function readAnthropicLine(row: Row): BillLine {
  const { cost_usd: dollars, amount: cents, cost_type: type = 'token', description = type } = row;
  const [day, cost] = [readDay(row), dollars || cents];
  const model = row.model || row.model_version || '';
  if (!cost) {
    const kinds = Object.keys(row).filter((name) => name.includes('input_tokens'));
    const input = sumCounts(...kinds.map((name) => row[name]));
    return { day, model, input, output: sumCounts(row.output_tokens, row.usage_output_tokens) };
  }
  requireUsd(row.currency);
  const isTool = !type.startsWith('token');
  return { day, model: isTool ? description : model, isTool, cost: toNano(cost, !dollars) };
}

/** Google's console has days of Pacific time, and its export to BigQuery times in UTC. */
function readGoogleLine(row: Row): BillLine | undefined {
  const { service_description: service = '', sku_description: sku = '', usage_start_date: date } = row;
  const { credit_type: credit = '', cost_type: type = '', usage_unit: unit = '' } = row;
  const amount = row.unrounded_cost || row.unrounded_subtotal || row.cost;
  requireUsd(row.currency);
  // A bill has lines of machines and storage, of credits and of taxes too.
  const isOfModels = /gemini|generative language|vertex ai|agent platform/i.test(service);
  if (!amount || !isOfModels || credit !== '' || !/^(usage|regular)?$/i.test(type)) return undefined;
  const until = date && toDay(row.usage_end_date || date);
  const zone = date && 'America/Los_Angeles';
  const isTool = !/gemini|claude|token/i.test(sku);
  const line = { day: readDay(row), until, zone, model: sku, isTool, cost: toNano(amount) };
  if (!/token|predictions/i.test(sku) || /storage|hour/i.test(sku + unit)) return line;
  return { ...line, [/output/i.test(sku) ? 'output' : 'input']: sumCounts(row.usage_amount) };
}

/** Google's units read `Generate content output token count gemini 3.5 flash lite text`. */
function findGoogleName(sku: string, known: Iterable<string>): string {
  const text = `-${toName(sku)}-`;
  const [base = ''] = /gemini(-\d+){1,2}(-(pro|flash|ultra))?(-lite)?(?=-)/.exec(text) ?? [];
  const found = [...known].filter((name) => name.startsWith(base) && text.includes(`-${name}-`));
  return found.toSorted((one, other) => other.length - one.length)[0] ?? (base || toName(sku));
}

const toSeconds = (day: string): string => String(Date.parse(day) / 1000);

const openAiApi: Api = {
  url: 'https://api.openai.com/v1/organization',
  variable: 'OPENAI_ADMIN_KEY',
  paths: [
    'costs?group_by[]=line_item',
    'usage/completions?group_by[]=model',
    'usage/embeddings?group_by[]=model',
  ],
  getHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  getPeriod: (from, to) => ({ start_time: toSeconds(from), end_time: toSeconds(to) }),
};

const anthropicApi: Api = {
  url: 'https://api.anthropic.com/v1/organizations',
  variable: 'ANTHROPIC_ADMIN_KEY',
  paths: ['cost_report?group_by[]=description', 'usage_report/messages?group_by[]=model'],
  getHeaders: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  getPeriod: (from, to) => ({ starting_at: `${from}T00:00:00Z`, ending_at: `${to}T00:00:00Z` }),
};

export const vendors: ReadonlyMap<string, Vendor> = new Map<string, Vendor>([
  ['openai', { providers: ['openai'], readLine: readOpenAiLine, findName: toName, api: openAiApi }],
  [
    'anthropic',
    { providers: ['anthropic'], readLine: readAnthropicLine, findName: toName, api: anthropicApi },
  ],
  ['google', { providers: ['google', 'google-vertex'], readLine: readGoogleLine, findName: findGoogleName }],
]);
