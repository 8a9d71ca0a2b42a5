/**
 * Reads a client's request: its spelling, its shape by the wire schema, then what takes two fields to see, then the
 * facts the gateway decides by. The canonical form is made when first asked for, since most calls go on verbatim.
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
import { holdsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { askedModes } from '../../shared/wire-kit/modes.ts';
import { preferencesOf } from '../../shared/wire-kit/provider-object.ts';
import { badField, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest } from './decode-request.ts';
import { searchesOf } from './decode-tools.ts';
import { checksSignatures } from './encoding.ts';
import { typeOfUrl } from './media.ts';
import { readSpelling, toldPath } from './spelling.ts';
import {
  countWire,
  isStrangePart,
  partKinds,
  requestWire,
  type WireContent,
  type WirePart,
  type WireRequest,
} from './wire.ts';

/** A call that came in this protocol; `instanceof` tells the upstream side that no foreign request was made to fit. */
export class GenerateCall implements ClientCall {
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  readonly effort: string | number | undefined;
  readonly framing: 'events' | 'array';
  /** Every chunk of this wire tells its usage. */
  readonly usageWanted = true;
  readonly size: InputSize;
  readonly fees: readonly Fee[];
  readonly modes: readonly Mode[];
  readonly preferences: Preferences;
  readonly carriesState: boolean;
  /** How the body was written, for edits to name its fields alike. */
  readonly words: readonly string[];
  /** Where the body holds a `provider` object, which no vendor is to see. */
  readonly providerPaths: readonly (readonly [string] | readonly [string, string])[];
  /** Where the body names its model, which mostly stands in the address alone. */
  readonly modelPath: readonly [string] | readonly [string, string] | undefined;
  /** Whether the current turn holds a call without the signature that newer models of Google's want: another vendor's, or an older model's. */
  readonly #unsigned: boolean;
  readonly #wire: WireRequest;
  readonly #text: string;
  #request: CanonicalRequest | undefined;

  constructor(
    wire: WireRequest,
    text: string,
    match: Match,
    words: readonly string[],
    modelPath: GenerateCall['modelPath'],
  ) {
    const { generationConfig: config } = wire;
    this.model = match.model ?? '';
    this.stream = match.stream ?? false;
    this.framing = match.framing ?? 'events';
    this.outputLimit = config?.maxOutputTokens ?? undefined;
    this.candidates = config?.candidateCount ?? 1;
    this.effort = effortOf(wire);
    this.preferences = preferencesOf(wire.provider);
    this.providerPaths =
      wire.provider === undefined
        ? []
        : modelPath?.length === 2
          ? [['provider'], ['generateContentRequest', 'provider']]
          : [['provider']];
    this.size = sizeOf(wire, text);
    this.fees = feesOf(wire, words);
    this.modes = [
      ...askedModes({ [toldPath('serviceTier', words)]: wire.serviceTier }),
      ...toolModes(wire, words),
    ];
    this.carriesState = holdsEnvelope(text);
    this.words = words;
    this.modelPath = modelPath;
    this.#unsigned = hasUnsignedCall(wire.contents);
    this.#wire = wire;
    this.#text = text;
  }

  suits(model: Model): boolean {
    return !this.#unsigned || !checksSignatures(model);
  }

  decode(): CanonicalRequest {
    // Of a request inside a count the words speak of other places.
    const words = this.modelPath?.length === 2 ? [] : this.words;
    this.#request ??= decodeRequest(this.#wire, {
      model: this.model,
      stream: this.stream,
      text: this.#text,
      words,
    });
    return this.#request;
  }
}

/** A budget of -1 leaves it to the model. */
function effortOf({ generationConfig }: WireRequest): string | number | undefined {
  const { thinkingLevel, thinkingBudget } = generationConfig?.thinkingConfig ?? {};
  return thinkingLevel?.toLowerCase() ?? (thinkingBudget === -1 ? undefined : (thinkingBudget ?? undefined));
}

/** Searches have no limit, however many tools ask for them: the first says where. */
function feesOf({ tools }: WireRequest, words: readonly string[]): Fee[] {
  const fields =
    tools?.flatMap((tool, place) => searchesOf(tool).map((name) => `tools[${place}].${name}`)) ?? [];
  return fields
    .slice(0, 1)
    .map((field) => ({ name: 'webSearch', field: toldPath(field, words), most: Infinity }));
}

/** What an answer is grounded in at a price for each call, which nobody has told, by the first tool that asks for it; files of Google's keeping cost their tokens alone. */
function toolModes({ tools }: WireRequest, words: readonly string[]): Mode[] {
  return (['googleMaps', 'retrieval'] as const).flatMap((name): Mode[] => {
    const place = tools?.findIndex((tool) => tool[name]) ?? -1;
    return place < 0 ? [] : [{ name, field: toldPath(`tools[${place}].${name}`, words), untold: true }];
  });
}

/** Of each step only the first call is signed. */
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

/** Throws `invalid_request` naming the field at fault, as the client wrote it. */
export function readRequest(body: unknown, text: string, match: Match): GenerateCall {
  const { body: spelt, words } = readSpelling(body);
  try {
    const { wire, modelPath } = match.operation === 'count' ? readCount(spelt) : readWhole(spelt);
    return new GenerateCall(wire, text, match, words, modelPath);
  } catch (error) {
    throw error instanceof GatewayError ? inTheirWords(error, words) : error;
  }
}

function inTheirWords(error: GatewayError, words: readonly string[]): GatewayError {
  const { param = '' } = error.details;
  const told = toldPath(param, words);
  return told === param
    ? error
    : new GatewayError(error.code, error.message.replace(`"${param}"`, `"${told}"`), {
        ...error.details,
        param: told,
      });
}

type Read = { readonly wire: WireRequest; readonly modelPath: GenerateCall['modelPath'] };

function readWhole(body: unknown): Read {
  const wire = checkWire(requestWire, body);
  checkTogether(wire, '');
  return { wire, modelPath: 'model' in wire ? ['model'] : undefined };
}

/** A count names contents, or holds the request it is about; the other fields of a request it takes beside contents. */
function readCount(body: unknown): Read {
  const { contents, generateContentRequest: inner, ...rest } = checkWire(countWire, body);
  if (inner) {
    if (contents) throw badField('contents', 'stands beside "generateContentRequest"', 'one of the two');
    checkTogether(inner, 'generateContentRequest.');
    return {
      wire: { ...inner, provider: inner.provider ?? rest.provider },
      modelPath: ['generateContentRequest', 'model'],
    };
  }
  if (!contents) throw badField('contents', 'is missing', 'an array of contents');
  return { wire: { ...rest, contents }, modelPath: undefined };
}

function checkParts(parts: readonly WirePart[], path: string): void {
  for (const [index, part] of parts.entries()) {
    const [first, second] = partKinds.filter((kind) => part[kind] !== undefined && part[kind] !== null);
    if (second !== undefined)
      throw badField(
        `${path}.parts[${index}].${second}`,
        `stands beside "${first}"`,
        'each in a part of its own',
      );
    const nested = part.functionResponse?.parts ?? [];
    for (const [place, { inlineData, fileData }] of nested.entries()) {
      if (inlineData && fileData)
        throw badField(
          `${path}.parts[${index}].functionResponse.parts[${place}].fileData`,
          'stands beside "inlineData"',
          'each in a part of its own',
        );
    }
  }
}

/** Modes of calling in which no function can be named. */
const namelessModes: ReadonlySet<string> = new Set(['', 'AUTO', 'NONE', 'MODE_UNSPECIFIED']);

function checkTogether(
  { contents, systemInstruction, toolConfig, generationConfig: config, tools }: WireRequest,
  path: string,
): void {
  for (const [index, { parts }] of contents.entries()) checkParts(parts, `${path}contents[${index}]`);
  if (systemInstruction) checkParts(systemInstruction.parts, `${path}systemInstruction`);
  const calling = toolConfig?.functionCallingConfig;
  if (calling?.allowedFunctionNames?.length && namelessModes.has(calling.mode?.toUpperCase() ?? '')) {
    throw badField(
      `${path}toolConfig.functionCallingConfig.allowedFunctionNames`,
      'is only for the modes "ANY" and "VALIDATED"',
      'one of these modes with it, or leave it out',
    );
  }
  for (const [index, { functionDeclarations }] of tools?.entries() ?? []) {
    for (const [place, declared] of functionDeclarations?.entries() ?? []) {
      if (declared.parameters && declared.parametersJsonSchema) {
        throw badField(
          `${path}tools[${index}].functionDeclarations[${place}].parametersJsonSchema`,
          'stands beside "parameters"',
          'one of the two',
        );
      }
    }
  }
  if (config?.responseSchema && config.responseJsonSchema)
    throw badField(
      `${path}generationConfig.responseJsonSchema`,
      'stands beside "responseSchema"',
      'one of the two',
    );
  const thinking = config?.thinkingConfig;
  if (typeof thinking?.thinkingBudget === 'number' && thinking.thinkingLevel) {
    throw badField(
      `${path}generationConfig.thinkingConfig.thinkingLevel`,
      'stands beside "thinkingBudget"',
      'one of the two',
    );
  }
}

/** What of a tool the client runs; Google runs all else. */
const clientTools: ReadonlySet<string> = new Set(['functionDeclarations', 'computerUse']);

/** Bounds the input from above: media is counted apart from the text it is written in. */
function sizeOf({ contents, systemInstruction, tools, cachedContent }: WireRequest, text: string): InputSize {
  let images = 0;
  let mediaBytes = 0;
  let base64 = 0;
  let fetched = tools?.some((tool) => tool.urlContext || tool.fileSearch || tool.mcpServers) ?? false;
  const isRun =
    tools?.some((tool) => Object.keys(tool).some((name) => tool[name] && !clientTools.has(name))) ?? false;
  const add = ({ inlineData, fileData }: Pick<WirePart, 'inlineData' | 'fileData'>): void => {
    const type = inlineData?.mimeType ?? fileData?.mimeType ?? typeOfUrl(fileData?.fileUri ?? '') ?? '';
    const length = inlineData?.data.length ?? 0;
    base64 += length;
    if (/^image\//i.test(type)) return void (images += 1);
    fetched ||= Boolean(fileData);
    mediaBytes += Math.floor((length * 3) / 4);
  };
  const all: readonly Pick<WireContent, 'parts'>[] = systemInstruction
    ? [...contents, systemInstruction]
    : contents;
  // Nobody knows how much a vendor reads for what is not known here.
  fetched ||= contents.some(({ role, parts }) => role !== 'model' && parts.some(isStrangePart));
  for (const part of all.flatMap(({ parts }) => parts)) {
    add(part);
    for (const nested of part.functionResponse?.parts ?? []) add(nested);
  }
  return {
    textBytes: Buffer.byteLength(text) - base64,
    images,
    mediaBytes,
    fetched: fetched || undefined,
    cached: cachedContent ? true : undefined,
    rounds: isRun ? Infinity : undefined,
  };
}
