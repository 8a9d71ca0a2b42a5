/**
 * The request body in camelCase, as `spelling.ts` returns it: every documented field with its type and range.
 * Unknown fields and values pass at every depth, and `null` means unset, as with Google.
 */
import { z } from 'zod';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { allowNumber, allowInteger, base64Data, tokenLimit } from '../../shared/wire-kit/wire-check.ts';

const anyObject = z.looseObject({});
const name = z.string().min(1);

const blob = z.looseObject({
  mimeType: name,
  data: base64Data,
  displayName: z.string().nullish(),
});
const file = z.looseObject({
  mimeType: z.string().nullish(),
  fileUri: name,
  displayName: z.string().nullish(),
});
const resultPart = z.looseObject({ inlineData: blob.nullish(), fileData: file.nullish() });

const part = z.looseObject({
  text: z.string().nullish(),
  inlineData: blob.nullish(),
  fileData: file.nullish(),
  functionCall: z.looseObject({ id: z.string().nullish(), name, args: anyObject.nullish() }).nullish(),
  functionResponse: z
    .looseObject({
      id: z.string().nullish(),
      name,
      response: anyObject.nullish(),
      parts: z.array(resultPart).nullish(),
    })
    .nullish(),
  executableCode: z.looseObject({ code: z.string() }).nullish(),
  codeExecutionResult: z.looseObject({ outcome: z.string(), output: z.string().nullish() }).nullish(),
  toolCall: anyObject.nullish(),
  toolResponse: anyObject.nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string('base64').nullish(),
  videoMetadata: anyObject.nullish(),
  mediaResolution: z.looseObject({ level: z.string().nullish() }).nullish(),
  partMetadata: anyObject.nullish(),
});

const content = z.looseObject({
  role: z.string().nullish(),
  parts: z.array(part).min(1),
});
const instruction = z.looseObject({ role: z.string().nullish(), parts: z.array(part).min(1) });

const declaration = z.looseObject({
  name,
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  parametersJsonSchema: anyObject.nullish(),
});
const tool = z.looseObject({ functionDeclarations: z.array(declaration).nullish() });

const toolConfig = z.looseObject({
  functionCallingConfig: z
    .looseObject({ mode: z.string().nullish(), allowedFunctionNames: z.array(z.string()).nullish() })
    .nullish(),
});

/** Google accepts five today. The gateway watches the reply for the others. */
const mostStops = 1000;
const generationConfig = z.looseObject({
  temperature: allowNumber(0, 2).nullish(),
  topP: allowNumber(0, 1).nullish(),
  topK: z.number('a number of tokens').nonnegative('a number of tokens').nullish(),
  candidateCount: allowInteger(1, 8).nullish(),
  maxOutputTokens: tokenLimit.nullish(),
  stopSequences: z.array(z.string()).max(mostStops, `an array of at most ${mostStops} strings`).nullish(),
  presencePenalty: allowNumber(-2, 2).nullish(),
  frequencyPenalty: allowNumber(-2, 2).nullish(),
  seed: allowInteger(-2147483648, 2147483647).nullish(),
  responseLogprobs: z.boolean().nullish(),
  logprobs: allowInteger(0, 20).nullish(),
  responseMimeType: z.string().nullish(),
  responseSchema: anyObject.nullish(),
  responseJsonSchema: z.unknown().optional(),
  responseModalities: z.array(z.string()).nullish(),
  thinkingConfig: z
    .looseObject({
      includeThoughts: z.boolean().nullish(),
      thinkingBudget: z
        .int('a whole number of tokens, 0 for none or -1 to leave it to the model')
        .min(-1, 'a whole number of tokens, 0 for none or -1 to leave it to the model')
        .nullish(),
      thinkingLevel: z.string().nullish(),
    })
    .nullish(),
  speechConfig: anyObject.nullish(),
  imageConfig: anyObject.nullish(),
  mediaResolution: z.string().nullish(),
  audioTimestamp: z.boolean().nullish(),
});

const fields = {
  systemInstruction: instruction.nullish(),
  tools: z.array(tool).nullish(),
  toolConfig: toolConfig.nullish(),
  generationConfig: generationConfig.nullish(),
  safetySettings: z.array(z.looseObject({ category: z.string(), threshold: z.string().nullish() })).nullish(),
  cachedContent: z.string().nullish(),
  continuationToken: z.string().nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  serviceTier: z.string().nullish(),
  store: z.boolean().nullish(),
  provider: providerObject.nullish(),
};

export const request = z.looseObject({ contents: z.array(content).min(1), ...fields });
/** The body of a count: only the contents, or a complete request. */
export const count = z.looseObject({
  contents: z.array(content).min(1).nullish(),
  generateContentRequest: request.nullish(),
  ...fields,
});

export type Tool = z.output<typeof tool>;
export type Request = z.output<typeof request>;
export type Content = z.output<typeof content>;
export type Part = z.output<typeof part>;
export type ResultPart = z.output<typeof resultPart>;
export type Call = NonNullable<Part['functionCall']>;
export type Result = NonNullable<Part['functionResponse']>;
export type Declaration = z.output<typeof declaration>;
export type Generation = z.output<typeof generationConfig>;

/** The fields that hold the content of a part. Each part has one. */
export const partKinds = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const;
/** Fields that may accompany the content of a part. */
const partAsides = splitNames(`
  thought thoughtSignature videoMetadata mediaResolution partMetadata mediaProcessing speechMetadata
`);

/** Whether a part holds content of any kind. */
export function hasContent(part: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(part).some((name) => !partAsides.has(name) && (part[name] ?? undefined) !== undefined);
}

/** Whether a part holds content of an unknown kind. */
export function isUnknownPart(part: Readonly<Record<string, unknown>>): boolean {
  return hasContent(part) && !partKinds.some((name) => (part[name] ?? undefined) !== undefined);
}
