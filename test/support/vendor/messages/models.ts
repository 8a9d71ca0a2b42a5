/**
 * Claude models by the end of their names, with the facts that decide what is refused. Everything else is
 * simplified.
 */
export interface ClaudeFacts {
  readonly contextLength: number;
  readonly outputLimit: number;
  /** How it is made to think: by a budget, by itself, or either. */
  readonly thinking: 'none' | 'budget' | 'both' | 'adaptive';
  /** Whether thinking may be switched off. */
  readonly canDisable: boolean;
  readonly efforts: readonly string[];
  /** Temperature and its kind; `one` takes either temperature or `top_p`. */
  readonly sampling: 'all' | 'one' | 'none';
  readonly prefill: boolean;
  /** System messages between the turns. */
  readonly midSystem: boolean;
  readonly structuredOutput: boolean;
  /** The dated name its replies carry. */
  readonly snapshot?: string;
  /**
   * Top-level fields of a request it knows beside the usual ones: a vendor ahead of its published interface.
   */
  readonly fields?: readonly string[];
}

const third: ClaudeFacts = {
  contextLength: 200_000,
  outputLimit: 4096,
  thinking: 'none',
  canDisable: true,
  efforts: [],
  sampling: 'all',
  prefill: true,
  midSystem: false,
  structuredOutput: false,
};
const fourth: ClaudeFacts = { ...third, outputLimit: 64_000, thinking: 'budget' };
const late: ClaudeFacts = { ...fourth, sampling: 'one', structuredOutput: true };
const sixth: ClaudeFacts = {
  ...late,
  contextLength: 1_000_000,
  thinking: 'both',
  efforts: ['low', 'medium', 'high', 'max'],
  sampling: 'all',
  prefill: false,
};
const seventh: ClaudeFacts = {
  ...sixth,
  outputLimit: 128_000,
  thinking: 'adaptive',
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  sampling: 'none',
};
const eighth: ClaudeFacts = { ...seventh, midSystem: true };

/** What follows `claude-`, without a date; the first that fits. */
const known: readonly (readonly [name: RegExp, facts: ClaudeFacts, date?: string])[] = [
  [/^3-opus(-latest)?$/, third, '20240229'],
  [/^opus-4(-0)?$/, { ...fourth, outputLimit: 32_000 }, '20250514'],
  [/^sonnet-4(-0)?$/, fourth, '20250514'],
  [/^opus-4-1$/, { ...late, outputLimit: 32_000 }, '20250805'],
  [/^sonnet-4-5$/, late, '20250929'],
  [/^haiku-4-5$/, late, '20251001'],
  [/^opus-4-5$/, { ...late, efforts: ['low', 'medium', 'high'] }, '20251101'],
  [/^sonnet-4-6$/, sixth],
  [/^opus-4-6$/, { ...sixth, outputLimit: 128_000 }],
  [/^opus-4-7$/, seventh],
  [/^(opus-4-8|sonnet-5)$/, eighth],
  [/^fable-5$/, { ...eighth, canDisable: false }],
];

const aliases: Readonly<Record<string, string>> = {
  '3-opus': '3-opus',
  'opus-4-0': 'opus-4',
  'sonnet-4-0': 'sonnet-4',
};

/** The facts of a model that is only scripted. */
export const anyClaude: ClaudeFacts = late;

export function findClaudeFacts(model: string): ClaudeFacts | undefined {
  const [, name = ''] = /^claude-(.*?)(?:-\d{8})?$/.exec(model) ?? [];
  const found = known.find(([pattern]) => pattern.test(name));
  if (!found) return undefined;
  const [, facts, date] = found;
  const plain = name.replace(/-latest$/, '');
  return date ? { ...facts, snapshot: `claude-${aliases[plain] ?? plain}-${date}` } : facts;
}
