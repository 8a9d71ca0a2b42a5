/**
 * Reads a client's request: converts its spelling, checks it, and finds the facts that the gateway decides
 * by. The canonical form is made on first use, since most calls take the verbatim lane.
 */
import {
  GatewayError,
  type CanonicalRequest,
  type ClientCall,
  type Fee,
  type InputSize,
  type Match,
  type Mode,
  type Model,
  type Preferences,
} from '../../../core/index.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { checkCount, checkRequest, type CheckedBody } from './check-request.ts';
import { decodeRequest } from './decode-request.ts';
import { listSearches } from './decode-tools.ts';
import { checksSignatures } from './encoding.ts';
import { guessMediaType } from './media.ts';
import { readSpelling, writtenPath, type SpellingNote } from './spelling.ts';
import { isUnknownPart, type WireContent, type WirePart, type WireRequest } from './wire.ts';

interface CallFacts extends CheckedBody {
  readonly text: string;
  readonly match: Match;
  readonly spelling: readonly SpellingNote[];
}

/**
 * A call in this protocol. The upstream side uses `instanceof` to see that the request was not translated.
 */
export class GenerateCall implements ClientCall {
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  readonly effort: string | number | undefined;
  readonly framing: 'events' | 'array';
  /** Every chunk of this wire reports its usage. */
  readonly usageWanted = true;
  readonly size: InputSize;
  readonly fees: readonly Fee[];
  readonly modes: readonly Mode[];
  readonly preferences: Preferences;
  readonly carriesState: boolean;
  /** How the body was written, so that edits name its fields alike. */
  readonly spelling: readonly SpellingNote[];
  /** The paths of `provider` objects, which no vendor may see. */
  readonly providerPaths: readonly (readonly [string] | readonly [string, string])[];
  readonly modelPath: CheckedBody['modelPath'];
  /** True if the current turn holds a call without a signature, made by another vendor or an older model. */
  readonly #hasUnsignedCall: boolean;
  readonly #wire: WireRequest;
  readonly #text: string;
  #request: CanonicalRequest | undefined;

  constructor({ wire, text, match, spelling, modelPath }: CallFacts) {
    const { generationConfig: config } = wire;
    this.model = match.model ?? '';
    this.stream = match.stream ?? false;
    this.framing = match.framing ?? 'events';
    this.outputLimit = config?.maxOutputTokens ?? undefined;
    this.candidates = config?.candidateCount ?? 1;
    this.effort = readEffort(wire);
    this.preferences = readPreferences(wire.provider);
    this.providerPaths = findProvider(wire, modelPath);
    this.size = measureInput(wire, text);
    this.fees = readFees(wire, spelling);
    this.modes = [
      ...readRequestedModes({ [writtenPath('serviceTier', spelling)]: wire.serviceTier }),
      ...readToolModes(wire, spelling),
    ];
    this.carriesState = containsEnvelope(text);
    this.spelling = spelling;
    this.modelPath = modelPath;
    this.#hasUnsignedCall = hasUnsignedCall(wire.contents);
    this.#wire = wire;
    this.#text = text;
  }

  suits(model: Model): boolean {
    return !this.#hasUnsignedCall || !checksSignatures(model);
  }

  decode(): CanonicalRequest {
    this.#request ??= decodeRequest(this.#wire, {
      model: this.model,
      stream: this.stream,
      text: this.#text,
      // If the request is inside the body of a count, the paths of the notes begin outside it.
      spelling: this.modelPath?.length === 2 ? [] : this.spelling,
    });
    return this.#request;
  }
}

/** Throws `invalid_request` with the path of the bad field, as the client wrote it. */
export function readRequest(body: unknown, text: string, match: Match): GenerateCall {
  const { body: converted, spelling } = readSpelling(body);
  try {
    const checked = match.operation === 'count' ? checkCount(converted) : checkRequest(converted);
    return new GenerateCall({ ...checked, text, match, spelling });
  } catch (error) {
    throw error instanceof GatewayError ? respellError(error, spelling) : error;
  }
}

function respellError(error: GatewayError, spelling: readonly SpellingNote[]): GatewayError {
  const { code, message, details } = error;
  const { param = '' } = details;
  const written = writtenPath(param, spelling);
  if (written === param) return error;
  return new GatewayError(code, message.replace(`"${param}"`, `"${written}"`), {
    ...details,
    param: written,
  });
}

/** A budget of -1 leaves the effort to the model. */
function readEffort({ generationConfig }: WireRequest): string | number | undefined {
  const { thinkingLevel, thinkingBudget } = generationConfig?.thinkingConfig ?? {};
  return thinkingLevel?.toLowerCase() ?? (thinkingBudget === -1 ? undefined : (thinkingBudget ?? undefined));
}

function findProvider(
  { provider }: WireRequest,
  modelPath: CheckedBody['modelPath'],
): GenerateCall['providerPaths'] {
  if (provider === undefined) return [];
  return modelPath?.length === 2 ? [['provider'], ['generateContentRequest', 'provider']] : [['provider']];
}

/**
 * The number of searches has no limit, however many tools ask for them. The fee names the first such tool.
 */
function readFees({ tools }: WireRequest, spelling: readonly SpellingNote[]): Fee[] {
  const [first] =
    tools?.flatMap((tool, place) => listSearches(tool).map((name) => `tools[${place}].${name}`)) ?? [];
  return first === undefined
    ? []
    : [{ name: 'webSearch', field: writtenPath(first, spelling), most: Infinity }];
}

/**
 * Grounding that has a price per call, which no reply reports. The mode names the first tool that asks for
 * it. Searches in files stored at Google cost only their tokens.
 */
function readToolModes({ tools }: WireRequest, spelling: readonly SpellingNote[]): Mode[] {
  return (['googleMaps', 'retrieval'] as const).flatMap((name): Mode[] => {
    const place = tools?.findIndex((tool) => tool[name]) ?? -1;
    return place < 0 ? [] : [{ name, field: writtenPath(`tools[${place}].${name}`, spelling), untold: true }];
  });
}

/** Looks at the first call of each step in the current turn: Google signs no others. */
function hasUnsignedCall(contents: readonly WireContent[]): boolean {
  const current = contents.findLastIndex(
    ({ role, parts }) => role !== 'model' && !parts.some(({ functionResponse }) => functionResponse),
  );
  const steps = contents.slice(current + 1).filter(({ role }) => role === 'model');
  return steps.some(({ parts }) => {
    const call = parts.find(({ functionCall }) => functionCall);
    return call !== undefined && !call.thoughtSignature;
  });
}

/** Tools that the client runs. Google runs all others. */
const clientTools: ReadonlySet<string> = new Set(['functionDeclarations', 'computerUse']);

/** An upper bound of the input. Media counts apart from the text that holds it. */
function measureInput(
  { contents, systemInstruction, tools, cachedContent }: WireRequest,
  text: string,
): InputSize {
  let images = 0;
  let mediaBytes = 0;
  let base64 = 0;
  let fetched =
    tools?.some((tool) => tool.urlContext || tool.fileSearch || tool.mcpServers) ||
    // We cannot know how much a vendor reads for a part of an unknown kind.
    contents.some(({ role, parts }) => role !== 'model' && parts.some(isUnknownPart));
  const hasHostedTool = tools?.some((tool) =>
    Object.keys(tool).some((name) => tool[name] && !clientTools.has(name)),
  );
  const addMedia = ({ inlineData, fileData }: Pick<WirePart, 'inlineData' | 'fileData'>): void => {
    const type = inlineData?.mimeType ?? fileData?.mimeType ?? guessMediaType(fileData?.fileUri ?? '') ?? '';
    const length = inlineData?.data.length ?? 0;
    base64 += length;
    if (/^image\//i.test(type)) return void (images += 1);
    fetched ||= Boolean(fileData);
    mediaBytes += Math.floor((length * 3) / 4);
  };
  for (const { parts } of [...contents, ...(systemInstruction ? [systemInstruction] : [])])
    for (const part of parts) {
      addMedia(part);
      for (const nested of part.functionResponse?.parts ?? []) addMedia(nested);
    }
  return {
    textBytes: Buffer.byteLength(text) - base64,
    images,
    mediaBytes,
    fetched: fetched || undefined,
    cached: cachedContent ? true : undefined,
    rounds: hasHostedTool ? Infinity : undefined,
  };
}
