/** The messages of Google's interface that requests use, field by field. No other field is known. */
import { readCases } from '../../cases.ts';
import type { Messages } from './proto.ts';

export const geminiMessages = readCases<Messages>('messages.json', import.meta.url);

/** Vertex knows the same and more. */
export const vertexMessages: Messages = {
  ...geminiMessages,
  messages: {
    ...geminiMessages.messages,
    GenerateContentRequest: {
      ...geminiMessages.messages.GenerateContentRequest,
      labels: '{string}',
      modelArmorConfig: 'ModelArmorConfig',
    },
    ModelArmorConfig: { promptTemplateName: 'string', responseTemplateName: 'string' },
    FunctionCallingConfig: {
      ...geminiMessages.messages.FunctionCallingConfig,
      streamFunctionCallArguments: 'bool',
    },
    ImageConfig: {
      ...geminiMessages.messages.ImageConfig,
      imageOutputOptions: 'ImageOutput',
      personGeneration: 'string',
    },
    ImageOutput: { mimeType: 'string', compressionQuality: 'int32' },
    Schema: {
      ...geminiMessages.messages.Schema,
      additionalProperties: 'any',
      ref: 'string',
      defs: '{Schema}',
    },
  },
};
