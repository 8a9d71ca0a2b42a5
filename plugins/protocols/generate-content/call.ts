/**
 * A client's call: what routing and billing need of it, read and checked in one spelling, and the parts of
 * its own body that are encoded again, because a plugin changed them or the model would refuse them.
 */
import {
  GatewayError,
  type Block,
  type Edit,
  type Fee,
  type InputSize,
  type Match,
  type Mode,
  type Model,
  type PartPlace,
  type PartsSide,
} from '../../../core/index.ts';
import { locateField, readSpelling, spellPath, type Spelling } from '../../shared/google/spelling.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { readMember, readObject } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { encodeBlock, encodeResponse, encodeResult, guessMediaType } from './content.ts';
import { Conversation, markUnsealedCalls, readAsList } from './conversation.ts';
import { checksSignatures, createEncoding, isNative, type Encoding } from './encoding.ts';
import { decodeRequest } from './request.ts';
import { searches } from './tools.ts';
import * as Wire from './wire.ts';

interface ReadBody extends CheckedBody {
  /** The body as the client wrote it. */
  readonly body: unknown;
  readonly text: string;
  readonly match: Match;
  readonly spelling: Spelling;
}

/** The member of a count's body that holds a complete request. */
const wrapper = 'generateContentRequest';
export const limitPath: Edit['path'] = ['generationConfig', 'maxOutputTokens'];

export class GenerateCall extends ReadCall {
  /** The paths of the gateway's own `provider` objects, which must not be sent upstream. */
  readonly providerPaths: readonly Edit['path'][];
  readonly modelPath: Edit['path'] | undefined;
  readonly limitPath: Edit['path'];
  /** Whether the current turn holds a call without a signature, from another vendor or an older model. */
  readonly #hasUnsealedCall: boolean;

  constructor(read: ReadBody) {
    const { wire, body, text, spelling, modelPath } = read;
    const facts = readFacts(read);
    const { model, stream } = facts;
    super(facts, () => decodeRequest(wire, { model, stream, text, spelling }));
    this.modelPath = modelPath && locateField(body, modelPath);
    this.limitPath = locateField(body, limitPath);
    const inner = modelPath?.[0] === wrapper ? [locateField(body, [wrapper, 'provider'])] : [];
    this.providerPaths = wire.provider === undefined ? [] : [['provider'], ...inner];
    this.#hasUnsealedCall = markUnsealedCalls(wire.contents) !== wire.contents;
  }

  suits(model: Model): boolean {
    return !this.#hasUnsealedCall || !checksSignatures(model);
  }
}

function readFacts({ wire, text, match, spelling }: ReadBody): CallFacts {
  const { generationConfig: config } = wire;
  const hosted = listHosted(wire, spelling);
  return {
    model: match.model ?? '',
    stream: match.stream ?? false,
    outputLimit: config?.maxOutputTokens ?? undefined,
    candidates: config?.candidateCount ?? 1,
    effort: readEffort(wire),
    reasoningWanted: needsThoughts(wire),
    framing: match.framing ?? 'events',
    // Every chunk of this protocol reports the usage.
    usageWanted: true,
    size: measureInput(wire, hosted, text),
    fees: listFees(hosted),
    modes: [
      ...readRequestedModes({ [spellPath('serviceTier', spelling)]: wire.serviceTier }),
      ...listToolModes(hosted),
    ],
    preferences: readPreferences(wire.provider),
    carriesState: containsEnvelope(text),
    labels: readLabels({ metadata: wire.labels }),
  };
}

/**
 * Whether the client has a use for thoughts. Gemini hides them by default, except those of pictures; many
 * clients take the first part for the answer. With tools, sealed thoughts must come back.
 */
function needsThoughts({ generationConfig: config, tools }: Wire.Request): boolean {
  return (
    config?.thinkingConfig?.includeThoughts ?? Boolean(tools?.length || config?.responseModalities?.length)
  );
}

/** Throws `invalid_request` with the path of the invalid field, as the client spelled it. */
export function readRequest(body: unknown, text: string, match: Match): GenerateCall {
  const { body: converted, spelling } = readSpelling(body);
  try {
    const checked = match.operation === 'count' ? checkCount(converted) : checkRequest(converted);
    return new GenerateCall({ ...checked, body, text, match, spelling });
  } catch (error) {
    throw error instanceof GatewayError ? respellError(error, spelling) : error;
  }
}

function respellError(error: GatewayError, spelling: Spelling): GatewayError {
  const { code, details } = error;
  const { param = '' } = details;
  const written = spellPath(param, spelling);
  if (written === param) return error;
  const message = error.message.replace(`"${param}"`, `"${written}"`);
  return new GatewayError(code, message, { ...details, param: written });
}

/** A budget of -1 leaves the effort to the model. */
function readEffort({ generationConfig }: Wire.Request): string | number | undefined {
  const { thinkingLevel, thinkingBudget } = generationConfig?.thinkingConfig ?? {};
  return thinkingLevel?.toLowerCase() ?? (thinkingBudget === -1 ? undefined : (thinkingBudget ?? undefined));
}

interface HostedTool {
  readonly name: string;
  /** Its path, as the client spelled it. */
  readonly field: string;
}

/** Tools that the client runs. Google runs all others. */
const clientTools = splitNames('functionDeclarations computerUse');
/** Tools by which Google fetches documents of unknown length. */
const fetchingTools = splitNames('urlContext fileSearch mcpServers');

function listHosted({ tools }: Wire.Request, spelling: Spelling): HostedTool[] {
  return (tools ?? []).flatMap((tool, place) =>
    Object.keys(tool)
      .filter((name) => tool[name] && !clientTools.has(name))
      .map((name) => ({ name, field: spellPath(`tools[${place}].${name}`, spelling) })),
  );
}

/** The number of searches has no limit, even with a single search tool. The fee names the first one. */
function listFees(hosted: readonly HostedTool[]): Fee[] {
  const search = hosted.find(({ name }) => searches.has(name));
  const code = hosted.find(({ name }) => name === 'codeExecution');
  return [
    ...(search ? [{ name: 'webSearch' as const, field: search.field, most: Infinity }] : []),
    // Google runs code without a fee; other providers open a container for it.
    ...(code ? [{ name: 'container' as const, field: code.field, most: 1, spared: true }] : []),
  ];
}

/**
 * Returns modes for grounding that has a price per call, since no reply reports it. The mode names the first
 * tool of its kind. Searches in files stored at Google cost only their tokens.
 */
function listToolModes(hosted: readonly HostedTool[]): Mode[] {
  return (['googleMaps', 'retrieval'] as const).flatMap((name): Mode[] => {
    const tool = hosted.find((each) => each.name === name);
    return tool ? [{ name, field: tool.field, silent: true }] : [];
  });
}

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
function measureInput(
  { contents, systemInstruction, cachedContent, continuationToken }: Wire.Request,
  hosted: readonly HostedTool[],
  text: string,
): InputSize {
  const meter = new MediaMeter();
  meter.fetched =
    hosted.some(({ name }) => fetchingTools.has(name)) ||
    // Google keeps the reply that the token continues, and reads it again.
    Boolean(continuationToken) ||
    // How many tokens a provider reads for a part of an unknown kind is unknown.
    contents.some(({ role, parts }) => role !== 'model' && parts.some(Wire.isUnknownPart));
  const addMedia = ({ inlineData, fileData }: Pick<Wire.Part, 'inlineData' | 'fileData'>): void => {
    const type = inlineData?.mimeType ?? fileData?.mimeType ?? guessMediaType(fileData?.fileUri ?? '') ?? '';
    const base64 = inlineData?.data ?? '';
    if (/^image\//i.test(type)) return meter.addImage(base64.length);
    meter.addFile(base64);
    if (fileData) meter.fetched = true;
  };
  for (const { parts } of [...contents, ...(systemInstruction ? [systemInstruction] : [])])
    for (const part of parts) {
      addMedia(part);
      for (const nested of part.functionResponse?.parts ?? []) addMedia(nested);
    }
  return {
    ...meter.measure(text),
    cached: cachedContent ? true : undefined,
    rounds: hosted.length > 0 ? Infinity : undefined,
  };
}

interface CheckedBody {
  readonly wire: Wire.Request;
  /** The path of the model in the body. Usually only the URL names the model. */
  readonly modelPath: Edit['path'] | undefined;
}

/** Throws `invalid_request` with the path of the first invalid field, in camelCase. */
function checkRequest(body: unknown): CheckedBody {
  const wire = checkWire(Wire.request, body);
  checkFields(wire, '');
  return { wire, modelPath: 'model' in wire ? ['model'] : undefined };
}

/** A count body holds contents, with or without other fields of a request, or a complete request. */
function checkCount(body: unknown): CheckedBody {
  const { contents, generateContentRequest: inner, ...rest } = checkWire(Wire.count, body);
  if (inner) {
    if (contents) throw buildConflictError('contents', wrapper);
    checkFields(inner, `${wrapper}.`);
    const provider = inner.provider ?? rest.provider;
    return { wire: { ...inner, provider }, modelPath: [wrapper, 'model'] };
  }
  if (!contents) throw buildFieldError('contents', 'is missing', 'an array of contents');
  return { wire: { ...rest, contents }, modelPath: undefined };
}

function buildConflictError(
  path: string,
  other: string,
  send = 'one of the two',
): ReturnType<typeof buildFieldError> {
  return buildFieldError(path, `cannot be combined with "${other}"`, send);
}

function checkParts(parts: readonly Wire.Part[], path: string): void {
  for (const [index, part] of parts.entries()) {
    const at = `${path}.parts[${index}]`;
    const [first, second] = Wire.partKinds.filter((kind) => part[kind] !== undefined && part[kind] !== null);
    if (first !== undefined && second !== undefined)
      throw buildConflictError(`${at}.${second}`, first, 'each in a part of its own');
    for (const [place, { inlineData, fileData }] of part.functionResponse?.parts?.entries() ?? [])
      if (inlineData && fileData)
        throw buildConflictError(
          `${at}.functionResponse.parts[${place}].fileData`,
          'inlineData',
          'each in a part of its own',
        );
  }
}

/** Calling modes that allow no function names. */
const namelessModes: ReadonlySet<string> = new Set(['', 'AUTO', 'NONE', 'MODE_UNSPECIFIED']);

function checkFields(wire: Wire.Request, path: string): void {
  const { contents, systemInstruction, toolConfig, generationConfig: config, tools } = wire;
  for (const [index, { parts }] of contents.entries()) checkParts(parts, `${path}contents[${index}]`);
  if (systemInstruction) checkParts(systemInstruction.parts, `${path}systemInstruction`);
  const calling = toolConfig?.functionCallingConfig;
  if (calling?.allowedFunctionNames?.length && namelessModes.has(calling.mode?.toUpperCase() ?? ''))
    throw buildFieldError(
      `${path}toolConfig.functionCallingConfig.allowedFunctionNames`,
      'is only for the modes "ANY" and "VALIDATED"',
      'one of these modes with it, or leave it out',
    );
  for (const [index, { functionDeclarations }] of tools?.entries() ?? [])
    for (const [place, declared] of functionDeclarations?.entries() ?? []) {
      const at = `${path}tools[${index}].functionDeclarations[${place}]`;
      if (declared.parameters && declared.parametersJsonSchema)
        throw buildConflictError(`${at}.parametersJsonSchema`, 'parameters');
    }
  if (config?.responseSchema && config.responseJsonSchema)
    throw buildConflictError(`${path}generationConfig.responseJsonSchema`, 'responseSchema');
  const thinking = config?.thinkingConfig;
  if (typeof thinking?.thinkingBudget === 'number' && thinking.thinkingLevel)
    throw buildConflictError(`${path}generationConfig.thinkingConfig.thinkingLevel`, 'thinkingBudget');
}

export const parts: PartsSide = {
  list: 'contents',
  liftsInstructions: true,
  start({ call, text, request, model, lose }) {
    const encoding = createEncoding(request, { model, lose, inPlace: true });
    const contents = call.carriesState ? readAsList(readMember(JSON.parse(text), 'contents')) : [];
    return {
      isStale: (index) => containsEnvelope(JSON.stringify(contents[index] ?? null)),
      readsState: (state) => !encoding.native || isNative(state),
      encodeTurn: (turn, index) =>
        new Conversation([[index, turn]], encoding, request.turns.entries()).contents,
      encodeBlock: (block, place) => encodePart(block, place, encoding),
      finish(body) {
        if (!checksSignatures(model)) return body;
        const given = readAsList(body.contents).map(readObject);
        const marked = markUnsealedCalls(given);
        return marked === given ? body : { ...body, contents: marked };
      },
    };
  },
};

function encodePart(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  if (block.type === 'tool-result') {
    const { part, files } = encodeResult(block, path, encoding, { name: block.name ?? '', filesBefore: 0 });
    return [part, ...files];
  }
  if (block.type !== 'text' || !path.includes('.content[')) return encodeBlock(block, path, encoding);
  const result = turn.blocks.find(({ type, at = '' }) => type === 'tool-result' && block.at?.startsWith(at));
  return [encodeResponse([block.text], { isError: result?.type === 'tool-result' && result.isError })];
}
