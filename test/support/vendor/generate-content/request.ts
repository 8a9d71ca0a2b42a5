/**
 * A request as the vendor's own code sees it after reading: one spelling, known kinds, and types for what the
 * rules check.
 */
import { z } from 'zod';

const blob = z.looseObject({ mimeType: z.string().default(''), data: z.string().default('') });
const file = z.looseObject({ mimeType: z.string().optional(), fileUri: z.string().default('') });
const part = z.looseObject({
  text: z.string().optional(),
  inlineData: blob.optional(),
  fileData: file.optional(),
  functionCall: z
    .looseObject({
      id: z.string().optional(),
      name: z.string().default(''),
      args: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  functionResponse: z
    .looseObject({
      id: z.string().optional(),
      name: z.string().default(''),
      response: z.record(z.string(), z.unknown()).optional(),
      parts: z.array(z.looseObject({ inlineData: blob.optional(), fileData: file.optional() })).default([]),
    })
    .optional(),
  executableCode: z.looseObject({}).optional(),
  codeExecutionResult: z.looseObject({}).optional(),
  toolCall: z.looseObject({}).optional(),
  toolResponse: z.looseObject({}).optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  videoMetadata: z.looseObject({}).optional(),
});
const content = z.looseObject({ role: z.string().optional(), parts: z.array(part).default([]) });
const declaration = z.looseObject({
  name: z.string().default(''),
  parameters: z.record(z.string(), z.unknown()).optional(),
  parametersJsonSchema: z.unknown().optional(),
});
const tool = z.looseObject({
  functionDeclarations: z.array(declaration).default([]),
  googleSearch: z.looseObject({}).optional(),
  googleSearchRetrieval: z.looseObject({}).optional(),
  codeExecution: z.looseObject({}).optional(),
  urlContext: z.looseObject({}).optional(),
});
const whole = z.coerce.number();
const generationConfig = z.looseObject({
  candidateCount: whole.optional(),
  stopSequences: z.array(z.string()).default([]),
  maxOutputTokens: whole.optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  responseMimeType: z.string().optional(),
  responseSchema: z.record(z.string(), z.unknown()).optional(),
  responseJsonSchema: z.unknown().optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: whole.optional(),
  responseModalities: z.array(z.string()).default([]),
  thinkingConfig: z
    .looseObject({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: whole.optional(),
      thinkingLevel: z.string().optional(),
    })
    .optional(),
});

export const requestSchema = z.looseObject({
  contents: z.array(content).default([]),
  systemInstruction: content.optional(),
  tools: z.array(tool).default([]),
  toolConfig: z
    .looseObject({
      functionCallingConfig: z
        .looseObject({
          mode: z.string().optional(),
          allowedFunctionNames: z.array(z.string()).default([]),
          streamFunctionCallArguments: z.boolean().optional(),
        })
        .optional(),
      includeServerSideToolInvocations: z.boolean().optional(),
    })
    .optional(),
  generationConfig: generationConfig.prefault({}),
  cachedContent: z.string().optional(),
});

export type GeminiRequest = z.output<typeof requestSchema>;
export type Content = GeminiRequest['contents'][number];
export type Part = Content['parts'][number];

/** The kinds of a part's data, of which it has to hold one. */
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
