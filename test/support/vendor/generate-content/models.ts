/** Gemini models by the start of their names, with the facts that decide what is refused. */
export interface GeminiFacts {
  /** 1.5, 2, 2.5, 3 …: from 3 on calls carry signatures that have to come back. */
  readonly generation: number;
  readonly contextLength: number;
  readonly outputLimit: number;
  readonly thinking: 'none' | 'budget' | 'level';
  readonly budget: { readonly min: number; readonly max: number; readonly canDisable: boolean };
  readonly levels: readonly string[];
  readonly drawsImages: boolean;
  /** Says everything aloud, and nothing else. */
  readonly speaks?: boolean;
}

const first: GeminiFacts = {
  generation: 1.5,
  contextLength: 1_048_576,
  outputLimit: 8192,
  thinking: 'none',
  budget: { min: 0, max: 0, canDisable: true },
  levels: [],
  drawsImages: false,
};
const second: GeminiFacts = { ...first, generation: 2 };
const half: GeminiFacts = { ...second, generation: 2.5, outputLimit: 65_536, thinking: 'budget' };
const third: GeminiFacts = {
  ...half,
  generation: 3,
  thinking: 'level',
  budget: { min: 1, max: 32_768, canDisable: false },
  levels: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
};

/** The first that fits. */
const known: readonly (readonly [name: RegExp, facts: GeminiFacts])[] = [
  [/^gemini-1\.5-/, first],
  [/^gemini-2\.0-/, second],
  [/^gemini-2\.5-flash-image/, { ...half, thinking: 'none', drawsImages: true }],
  [/^gemini-2\.5-(flash|pro)-preview-tts/, { ...half, thinking: 'none', speaks: true }],
  [/^gemini-2\.5-flash-lite/, { ...half, budget: { min: 512, max: 24_576, canDisable: true } }],
  [/^gemini-2\.5-flash/, { ...half, budget: { min: 0, max: 24_576, canDisable: true } }],
  [/^gemini-2\.5-pro/, { ...half, budget: { min: 128, max: 32_768, canDisable: false } }],
  [/^gemini-3(\.\d)?-pro-image/, { ...third, drawsImages: true }],
  [/^gemini-3(\.\d)?-pro/, { ...third, levels: ['LOW', 'MEDIUM', 'HIGH'] }],
  [/^gemini-3(\.\d)?-flash/, third],
];

/** The facts of a model that is only scripted. */
export const anyGemini: GeminiFacts = half;

export function findGeminiFacts(model: string): GeminiFacts | undefined {
  return known.find(([pattern]) => pattern.test(model))?.[1];
}

/** Hosts that keep the vendor's own fetching out. */
export const forbiddenHosts: ReadonlySet<string> = new Set(['www.gstatic.com']);
