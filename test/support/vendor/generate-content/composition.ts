/** What whole and streamed replies share: each candidate as parts, and the usage as it grows. */
import { type Asked, improvise, saysNothing } from '../improvise.ts';
import type { Scenario } from '../scenario.ts';
import type { Seals } from '../seal.ts';
import { perSound, placeCitations, speak, type Speech } from '../speech.ts';
import type { GeminiFacts } from './models.ts';
import type { GeminiRequest } from './request.ts';
import { perPicture, countPrompt, sumTokens, type Details, type Spent } from './usage.ts';

function toText(response: unknown): string {
  if (typeof response === 'string') return response;
  if (typeof response !== 'object' || response === null) return String(response);
  const [only, second] = Object.values(response);
  return second === undefined && only !== undefined ? toText(only) : JSON.stringify(response);
}

function listResults({ contents }: GeminiRequest): Asked['results'] {
  return (contents.at(-1)?.parts ?? []).flatMap(({ functionResponse }) =>
    functionResponse
      ? [
          {
            name: functionResponse.name,
            text: [toText(functionResponse.response), ...functionResponse.parts.map(() => '(medium)')].join(
              ' ',
            ),
          },
        ]
      : [],
  );
}

/** Whether reasoning is shown at all, if the model has any. */
function thinks({ generationConfig: { thinkingConfig } }: GeminiRequest, { thinking }: GeminiFacts): boolean {
  return thinking !== 'none' && thinkingConfig?.thinkingBudget !== 0;
}

function describeRequest(request: GeminiRequest, facts: GeminiFacts, model: string): Asked {
  const { tools, toolConfig, generationConfig: config } = request;
  const { mode = 'AUTO', allowedFunctionNames: allowed = [] } = toolConfig?.functionCallingConfig ?? {};
  const declared = tools.flatMap(({ functionDeclarations }) => functionDeclarations);
  const offered = declared.filter(
    ({ name }) => mode !== 'NONE' && (!allowed.length || allowed.includes(name)),
  );
  const json =
    config.responseMimeType === 'application/json'
      ? (config.responseJsonSchema ?? config.responseSchema ?? true)
      : undefined;
  return {
    model,
    tools: offered.map(({ name, parameters, parametersJsonSchema }) => ({
      name,
      schema: parametersJsonSchema ?? parameters,
    })),
    mustCall: mode === 'ANY',
    parallel: true,
    results: listResults(request),
    ...(json === undefined ? {} : { schema: json }),
    reasons: thinks(request, facts),
    searches: tools.some(({ googleSearch, googleSearchRetrieval }) => googleSearch ?? googleSearchRetrieval),
    draws: facts.drawsImages && config.responseModalities.includes('IMAGE'),
    runsCode: tools.some(({ codeExecution }) => codeExecution),
  };
}

/** One chunk's worth of a candidate. */
export interface Piece {
  readonly part: Readonly<Record<string, unknown>>;
  readonly spent: Partial<Spent>;
}

export interface Candidate {
  readonly pieces: readonly Piece[];
  /** Beside the content of its last chunk. */
  readonly ending: Readonly<Record<string, unknown>>;
}

export interface Composition {
  readonly identity: { readonly modelVersion: string; readonly responseId: string };
  readonly scenario: Scenario;
  readonly candidates: readonly Candidate[];
  readonly prompt: Details;
  readonly billed: { readonly prompt: number; readonly completion: number };
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return {};
  }
}

interface Manner {
  readonly facts: GeminiFacts;
  readonly showsThoughts: boolean;
  /** Shows its own tools as parts, which a client that offers functions beside them asks for. */
  readonly showsTools: boolean;
  /** Calls are streamed argument by argument. */
  readonly partialCalls: boolean;
  readonly seals: Seals;
}

/** A call argument by argument, texts as they come, as Vertex streams it when asked to. */
function buildPartialCall(name: string, args: unknown, signature: object): Piece[] {
  const entries: [string, unknown][] = typeof args === 'object' && args !== null ? Object.entries(args) : [];
  const call = (fields: object, side: object = {}): Piece => ({
    part: { functionCall: fields, ...side },
    spent: { text: 1 },
  });
  if (!entries.length) return [call({ name }, signature)];
  const partials = entries.flatMap(([field, value]): object[] => {
    const jsonPath = `$.${field}`;
    if (typeof value === 'string')
      return [
        { jsonPath, stringValue: value, willContinue: true },
        { jsonPath, stringValue: '' },
      ];
    if (typeof value === 'number') return [{ jsonPath, numberValue: value }];
    return typeof value === 'boolean'
      ? [{ jsonPath, boolValue: value }]
      : [{ jsonPath, nullValue: 'NULL_VALUE' }];
  });
  return [
    call({ name, willContinue: true }, signature),
    ...partials.map((partial) => call({ partialArgs: [partial], willContinue: true })),
    call({}),
  ];
}

function buildCallPieces({ calls, reason }: Speech, { facts, partialCalls, seals }: Manner): Piece[] {
  // A call that the limit cuts off is omitted: its arguments would not parse.
  const whole = reason === 'limit' ? calls.slice(0, -1) : calls;
  return whole.flatMap(({ id, name, fragments }, index): Piece[] => {
    const signed =
      index === 0 && facts.generation >= 3 ? { thoughtSignature: seals.seal(`call-${name}`, '') } : {};
    const args = parseArguments(fragments.join(''));
    if (partialCalls) return buildPartialCall(name, args, signed);
    const functionCall = { ...(id ? { id } : {}), name, args };
    return [{ part: { functionCall, ...signed }, spent: { text: 1 + fragments.length } }];
  });
}

function buildGrounding(speech: Speech, query: string): object {
  const text = (speech.text ?? []).join('');
  const supports = placeCitations(speech).map(({ part, cited }, index) => {
    // Positions are in bytes, and a zero is omitted.
    const startIndex = Buffer.byteLength(text.slice(0, cited.start_index));
    const segment = {
      ...(startIndex ? { startIndex } : {}),
      endIndex: startIndex + Buffer.byteLength(part),
      text: part,
    };
    return { segment, groundingChunkIndices: [index] };
  });
  return {
    groundingMetadata: {
      searchEntryPoint: { renderedContent: '<div>search</div>' },
      groundingChunks: speech.citations.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: supports,
      webSearchQueries: [query],
    },
  };
}

function buildTextPieces(speech: Speech, { facts, seals }: Manner): Piece[] {
  const words = speech.text ?? [];
  const pieces = words.map((text): Piece => ({ part: { text }, spent: { text: 1 } }));
  const signs = speech.reasoning.length > 0 && !speech.calls.length && words.length > 0;
  if (!signs) return pieces;
  const thoughtSignature = seals.seal('text', '');
  if (facts.generation >= 3) return [...pieces, { part: { text: '', thoughtSignature }, spent: {} }];
  return pieces.map((piece, index) =>
    index ? piece : { ...piece, part: { ...piece.part, thoughtSignature } },
  );
}

function buildSearchPieces({ search }: Speech, { showsTools, seals }: Manner): Piece[] {
  if (search === undefined || !showsTools) return [];
  const facts = { toolType: 'GOOGLE_SEARCH_WEB', id: 'search-1' };
  const parts = [
    { toolCall: { ...facts, args: { queries: [search] } } },
    { toolResponse: { ...facts, response: { search_suggestions: '<div>search</div>' } } },
  ];
  return parts.map((part) => ({ part: { ...part, thoughtSignature: seals.seal('text', '') }, spent: {} }));
}

function buildPieces(speech: Speech, manner: Manner): Piece[] {
  const { reasoning, sealed, code, pictures, sound } = speech;
  const shown = manner.showsThoughts && !sealed;
  const thoughts = reasoning.map((text): Piece => ({
    part: { text, thought: true },
    spent: { thoughts: 1 },
  }));
  const language = code?.language.toUpperCase();
  const run: Piece[] = code
    ? [
        { part: { executableCode: { language, code: code.source } }, spent: { text: 5 } },
        {
          part: { codeExecutionResult: { outcome: 'OUTCOME_OK', output: code.output } },
          spent: { toolUse: 5 },
        },
      ]
    : [];
  return [
    ...(shown ? thoughts : []),
    ...buildSearchPieces(speech, manner),
    ...run,
    ...buildTextPieces(speech, manner),
    ...pictures.map(({ mimeType, data }): Piece => ({
      part: { inlineData: { mimeType, data } },
      spent: { pictures: perPicture },
    })),
    ...(sound?.data ?? []).map((data): Piece => ({
      part: { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data } },
      spent: { sounds: perSound },
    })),
    ...buildCallPieces(speech, manner),
  ];
}

const reasons = {
  end: 'STOP',
  'stop-sequence': 'STOP',
  limit: 'MAX_TOKENS',
  calls: 'STOP',
  refusal: 'SAFETY',
} as const;

const blockedRatings = ['HATE_SPEECH', 'DANGEROUS_CONTENT', 'HARASSMENT', 'SEXUALLY_EXPLICIT'].map(
  (kind, index) => ({
    ...(index ? {} : { blocked: true }),
    category: `HARM_CATEGORY_${kind}`,
    probability: index ? 'NEGLIGIBLE' : 'LOW',
  }),
);

function buildLogprobs(words: readonly string[], top: number): object {
  const chosen = words.map((token, index) => ({ token, tokenId: 1000 + index, logProbability: -0.25 }));
  const topCandidates = chosen.map((one) => ({
    candidates: Array.from({ length: Math.max(top, 1) }, () => one),
  }));
  return { avgLogprobs: -0.25, logprobsResult: { topCandidates, chosenCandidates: chosen } };
}

function buildEnding(speech: Speech, { generationConfig: config }: GeminiRequest): Candidate['ending'] {
  const finishReason = speech.finish ?? reasons[speech.reason];
  const text = (speech.text ?? []).join('');
  return {
    finishReason,
    ...(speech.calls.length && finishReason === 'STOP'
      ? { finishMessage: 'Model generated function call(s).' }
      : {}),
    ...(finishReason === 'SAFETY' ? { safetyRatings: blockedRatings } : {}),
    ...(speech.search === undefined ? {} : buildGrounding(speech, speech.search)),
    ...(config.responseLogprobs && text ? buildLogprobs(speech.text ?? [], config.logprobs ?? 0) : {}),
  };
}

export interface Given {
  readonly request: GeminiRequest;
  readonly model: string;
  readonly facts: GeminiFacts;
  readonly scenario: Scenario;
  readonly number: number;
  readonly seals: Seals;
}

/** Tokens of hidden reasoning, and of a search's results: spent before the first word. */
function countHidden(speech: Speech, shown: boolean): Piece['spent'] {
  return {
    thoughts: shown && !speech.sealed ? 0 : speech.reasoning.length,
    toolUse: speech.search === undefined ? 0 : 20,
  };
}

function addHidden(pieces: readonly Piece[], spent: Piece['spent']): Piece[] {
  const [first = { part: {}, spent: {} }, ...rest] = pieces;
  const sum = {
    ...first.spent,
    thoughts: (first.spent.thoughts ?? 0) + (spent.thoughts ?? 0),
    toolUse: (first.spent.toolUse ?? 0) + (spent.toolUse ?? 0),
  };
  return [{ part: first.part, spent: sum }, ...rest];
}

export function compose({ request, model, facts, scenario, number, seals }: Given): Composition {
  const { generationConfig: config, toolConfig } = request;
  const showsThoughts = config.thinkingConfig?.includeThoughts ?? false;
  const manner = {
    facts,
    showsThoughts,
    showsTools: toolConfig?.includeServerSideToolInvocations ?? false,
    partialCalls: toolConfig?.functionCallingConfig?.streamFunctionCallArguments ?? false,
    seals,
  };
  const limit = scenario.overrun ? Infinity : Math.min(config.maxOutputTokens ?? Infinity, facts.outputLimit);
  const asked = describeRequest(request, facts, model);
  const candidates = Array.from(
    { length: scenario.blocked ? 0 : (config.candidateCount ?? 1) },
    (_, index): Candidate => {
      const wanted = scenario.candidates?.[index] ?? scenario;
      const said = saysNothing(wanted) ? { ...improvise(asked, index), ...wanted } : wanted;
      // This vendor names no calls of its own accord.
      const speech = speak(said, { limit, stops: config.stopSequences, callId: () => '' });
      return {
        pieces: addHidden(buildPieces(speech, manner), countHidden(speech, showsThoughts)),
        ending: buildEnding(speech, request),
      };
    },
  );
  const prompt = countPrompt(request);
  const spent = candidates.flatMap(({ pieces }) => pieces.map((piece) => piece.spent));
  const completion = spent.reduce(
    (sum, { text = 0, pictures = 0, sounds = 0, thoughts = 0 }) => sum + text + pictures + sounds + thoughts,
    0,
  );
  return {
    identity: { modelVersion: model, responseId: `fake${String(number).padStart(19, '0')}` },
    scenario,
    candidates,
    prompt,
    billed: { prompt: sumTokens(prompt), completion },
  };
}
