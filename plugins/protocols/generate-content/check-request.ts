/** Checks a client's body: its shape by the wire schema, then the rules between two fields. */
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { countWire, partKinds, requestWire, type WirePart, type WireRequest } from './wire.ts';

export interface CheckedBody {
  readonly wire: WireRequest;
  /** The path of the model in the body. Usually only the address names it. */
  readonly modelPath: readonly [string] | readonly [string, string] | undefined;
}

/** Throws `invalid_request` with the path of the first bad field, in camelCase. */
export function checkRequest(body: unknown): CheckedBody {
  const wire = checkWire(requestWire, body);
  checkFields(wire, '');
  return { wire, modelPath: 'model' in wire ? ['model'] : undefined };
}

/**
 * The body of a count holds contents, or a whole request. Other fields of a request may accompany contents.
 */
export function checkCount(body: unknown): CheckedBody {
  const { contents, generateContentRequest: inner, ...rest } = checkWire(countWire, body);
  if (inner) {
    if (contents) throw exclusive('contents', 'generateContentRequest');
    checkFields(inner, 'generateContentRequest.');
    return {
      wire: { ...inner, provider: inner.provider ?? rest.provider },
      modelPath: ['generateContentRequest', 'model'],
    };
  }
  if (!contents) throw buildFieldError('contents', 'is missing', 'an array of contents');
  return { wire: { ...rest, contents }, modelPath: undefined };
}

function exclusive(path: string, other: string, send = 'one of the two'): ReturnType<typeof buildFieldError> {
  return buildFieldError(path, `cannot be combined with "${other}"`, send);
}

function checkParts(parts: readonly WirePart[], path: string): void {
  for (const [index, part] of parts.entries()) {
    const at = `${path}.parts[${index}]`;
    const [first, second] = partKinds.filter((kind) => part[kind] !== undefined && part[kind] !== null);
    if (first !== undefined && second !== undefined)
      throw exclusive(`${at}.${second}`, first, 'each in a part of its own');
    for (const [place, { inlineData, fileData }] of part.functionResponse?.parts?.entries() ?? [])
      if (inlineData && fileData)
        throw exclusive(
          `${at}.functionResponse.parts[${place}].fileData`,
          'inlineData',
          'each in a part of its own',
        );
  }
}

/** Calling modes that take no function names. */
const namelessModes: ReadonlySet<string> = new Set(['', 'AUTO', 'NONE', 'MODE_UNSPECIFIED']);

function checkFields(wire: WireRequest, path: string): void {
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
        throw exclusive(`${at}.parametersJsonSchema`, 'parameters');
    }
  if (config?.responseSchema && config.responseJsonSchema)
    throw exclusive(`${path}generationConfig.responseJsonSchema`, 'responseSchema');
  const thinking = config?.thinkingConfig;
  if (typeof thinking?.thinkingBudget === 'number' && thinking.thinkingLevel)
    throw exclusive(`${path}generationConfig.thinkingConfig.thinkingLevel`, 'thinkingBudget');
}
