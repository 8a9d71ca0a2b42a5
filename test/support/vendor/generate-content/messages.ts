/** The messages of Google's interface that requests use, field by field. No other field is known. */
import type { Messages } from './proto.ts';

const duration = 'string';

export const geminiMessages: Messages = {
  messages: {
    GenerateContentRequest: {
      model: 'string', contents: '[Content]', systemInstruction: 'Content', tools: '[Tool]', toolConfig: 'ToolConfig', safetySettings: '[SafetySetting]',
      generationConfig: 'GenerationConfig', cachedContent: 'string', serviceTier: 'ServiceTier', store: 'bool',
    },
    CountTokensRequest: { model: 'string', contents: '[Content]', generateContentRequest: 'GenerateContentRequest' },
    Content: { role: 'string', parts: '[Part]' },
    Part: {
      text: 'string', inlineData: 'Blob', fileData: 'FileData', functionCall: 'FunctionCall', functionResponse: 'FunctionResponse',
      executableCode: 'ExecutableCode', codeExecutionResult: 'CodeExecutionResult', toolCall: 'ToolCall', toolResponse: 'ToolResponse',
      thought: 'bool', thoughtSignature: 'bytes', videoMetadata: 'VideoMetadata', mediaResolution: 'PartMediaResolution', partMetadata: 'struct',
    },
    Blob: { mimeType: 'string', data: 'bytes', displayName: 'string' },
    FileData: { mimeType: 'string', fileUri: 'string', displayName: 'string' },
    FunctionCall: { id: 'string', name: 'string', args: 'struct' },
    FunctionResponse: { id: 'string', name: 'string', response: 'struct', parts: '[FunctionResponsePart]', scheduling: 'Scheduling', willContinue: 'bool' },
    FunctionResponsePart: { inlineData: 'Blob', fileData: 'FileData' },
    ExecutableCode: { id: 'string', language: 'CodeLanguage', code: 'string' },
    CodeExecutionResult: { id: 'string', outcome: 'Outcome', output: 'string' },
    ToolCall: { id: 'string', toolType: 'string', args: 'struct' },
    ToolResponse: { id: 'string', toolType: 'string', response: 'struct' },
    VideoMetadata: { startOffset: duration, endOffset: duration, fps: 'float' },
    PartMediaResolution: { level: 'MediaResolution', numTokens: 'int32' },
    Tool: {
      functionDeclarations: '[FunctionDeclaration]', googleSearch: 'GoogleSearch', googleSearchRetrieval: 'GoogleSearchRetrieval', urlContext: 'Empty',
      codeExecution: 'Empty', googleMaps: 'GoogleMaps', fileSearch: 'FileSearch', computerUse: 'ComputerUse',
    },
    Empty: {},
    GoogleSearch: { timeRangeFilter: 'struct', excludeDomains: '[string]', blockingConfidence: 'string', searchTypes: 'struct' },
    GoogleSearchRetrieval: { dynamicRetrievalConfig: 'DynamicRetrieval' },
    DynamicRetrieval: { mode: 'string', dynamicThreshold: 'float' },
    GoogleMaps: { enableWidget: 'bool' },
    FileSearch: { fileSearchStoreNames: '[string]', topK: 'int32', metadataFilter: 'string' },
    ComputerUse: { environment: 'string', excludedPredefinedFunctions: '[string]' },
    FunctionDeclaration: {
      name: 'string', description: 'string', behavior: 'Behavior', parameters: 'Schema', parametersJsonSchema: 'any', response: 'Schema', responseJsonSchema: 'any',
    },
    Schema: {
      type: 'Type', format: 'string', title: 'string', description: 'string', nullable: 'bool', enum: '[string]', maxItems: 'int64', minItems: 'int64',
      properties: '{Schema}', required: '[string]', minProperties: 'int64', maxProperties: 'int64', minLength: 'int64', maxLength: 'int64', pattern: 'string',
      example: 'any', anyOf: '[Schema]', propertyOrdering: '[string]', default: 'any', items: 'Schema', minimum: 'float', maximum: 'float',
    },
    ToolConfig: { functionCallingConfig: 'FunctionCallingConfig', retrievalConfig: 'RetrievalConfig', includeServerSideToolInvocations: 'bool' },
    FunctionCallingConfig: { mode: 'CallingMode', allowedFunctionNames: '[string]' },
    RetrievalConfig: { latLng: 'LatLng', languageCode: 'string' },
    LatLng: { latitude: 'float', longitude: 'float' },
    SafetySetting: { category: 'HarmCategory', threshold: 'HarmThreshold', method: 'string' },
    GenerationConfig: {
      candidateCount: 'int32', stopSequences: '[string]', maxOutputTokens: 'int32', temperature: 'float', topP: 'float', topK: 'float', seed: 'int32',
      presencePenalty: 'float', frequencyPenalty: 'float', responseMimeType: 'string', responseSchema: 'Schema', responseJsonSchema: 'any',
      responseLogprobs: 'bool', logprobs: 'int32', enableEnhancedCivicAnswers: 'bool', responseModalities: '[Modality]', speechConfig: 'SpeechConfig',
      thinkingConfig: 'ThinkingConfig', imageConfig: 'ImageConfig', mediaResolution: 'MediaResolution', audioTimestamp: 'bool',
    },
    ThinkingConfig: { includeThoughts: 'bool', thinkingBudget: 'int32', thinkingLevel: 'ThinkingLevel' },
    ImageConfig: { aspectRatio: 'string', imageSize: 'string' },
    SpeechConfig: { voiceConfig: 'struct', multiSpeakerVoiceConfig: 'struct', languageCode: 'string' },
  },
  enums: {
    ServiceTier: ['UNSPECIFIED', 'STANDARD', 'FLEX', 'PRIORITY'],
    Scheduling: ['SCHEDULING_UNSPECIFIED', 'SILENT', 'WHEN_IDLE', 'INTERRUPT'],
    CodeLanguage: ['LANGUAGE_UNSPECIFIED', 'PYTHON'],
    Outcome: ['OUTCOME_UNSPECIFIED', 'OUTCOME_OK', 'OUTCOME_FAILED', 'OUTCOME_DEADLINE_EXCEEDED'],
    MediaResolution: ['MEDIA_RESOLUTION_UNSPECIFIED', 'MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_MEDIUM', 'MEDIA_RESOLUTION_HIGH', 'MEDIA_RESOLUTION_ULTRA_HIGH'],
    Behavior: ['UNSPECIFIED', 'BLOCKING', 'NON_BLOCKING'],
    Type: ['TYPE_UNSPECIFIED', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'],
    CallingMode: ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'],
    HarmCategory: ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT', 'CIVIC_INTEGRITY', 'JAILBREAK'].map((kind) => `HARM_CATEGORY_${kind}`),
    HarmThreshold: ['HARM_BLOCK_THRESHOLD_UNSPECIFIED', 'BLOCK_LOW_AND_ABOVE', 'BLOCK_MEDIUM_AND_ABOVE', 'BLOCK_ONLY_HIGH', 'BLOCK_NONE', 'OFF'],
    Modality: ['MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'AUDIO', 'VIDEO'],
    ThinkingLevel: ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
  },
  choices: {
    Part: { data: ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] },
    FunctionResponsePart: { data: ['inlineData', 'fileData'] },
  },
};

/** Vertex knows the same and more. */
export const vertexMessages: Messages = {
  ...geminiMessages,
  messages: {
    ...geminiMessages.messages,
    GenerateContentRequest: { ...geminiMessages.messages['GenerateContentRequest'], labels: '{string}', modelArmorConfig: 'ModelArmorConfig' },
    ModelArmorConfig: { promptTemplateName: 'string', responseTemplateName: 'string' },
    FunctionCallingConfig: { ...geminiMessages.messages['FunctionCallingConfig'], streamFunctionCallArguments: 'bool' },
    ImageConfig: { ...geminiMessages.messages['ImageConfig'], imageOutputOptions: 'ImageOutput', personGeneration: 'string' },
    ImageOutput: { mimeType: 'string', compressionQuality: 'int32' },
    Schema: { ...geminiMessages.messages['Schema'], additionalProperties: 'any', ref: 'string', defs: '{Schema}' },
  },
};
