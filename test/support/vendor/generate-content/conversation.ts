/**
 * The rules of a conversation: every turn of calls is answered by as many responses right after it, calls of
 * the current turn bring back the signatures they came with, and no part is without data.
 */
import { isObject } from '../../json.ts';
import type { Seals } from '../seal.ts';
import { forbiddenHosts, type GeminiFacts } from './models.ts';
import { partKinds, type Content, type GeminiRequest, type Part } from './request.ts';

/** The placeholder for a signature that was never given, which the vendor accepts. */
const placeholders = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);

const mediaTypes = [
  /^image\/(png|jpe?g|webp|heic|heif|gif|bmp|avif)$/,
  /^(audio|video|text)\//,
  /^application\/(pdf|json|x-javascript|rtf|xml)$/,
];

function checkShape(contents: readonly Content[]): string | undefined {
  if (!contents.length) return '* GenerateContentRequest.contents: contents is not specified\n';
  for (const [place, { role, parts }] of contents.entries()) {
    if (role !== undefined && role !== '' && !['user', 'model', 'function'].includes(role))
      return 'Please use a valid role: user, model.';
    if (!role && contents.length > 1 && parts.some(({ functionCall }) => functionCall))
      return 'Please use a valid role: user, model.';
    if (!parts.length)
      return `* GenerateContentRequest.contents[${place}].parts: contents.parts must not be empty.\n`;
    const hollow = parts.findIndex((part) => partKinds.every((kind) => part[kind] === undefined));
    if (hollow >= 0)
      return (
        `* GenerateContentRequest.contents[${place}].parts[${hollow}].data: ` +
        "required oneof field 'data' must have one initialized field\n"
      );
  }
  return undefined;
}

function listCalls({ parts }: Content): NonNullable<Part['functionCall']>[] {
  return parts.flatMap(({ functionCall }) => functionCall ?? []);
}

function listResponses({ parts }: Content): NonNullable<Part['functionResponse']>[] {
  return parts.flatMap(({ functionResponse }) => functionResponse ?? []);
}

function checkTurns(contents: readonly Content[]): string | undefined {
  for (const [place, content] of contents.entries()) {
    const before = contents[place - 1];
    const calls = before ? listCalls(before) : [];
    const responses = listResponses(content);
    if (responses.length && !calls.length)
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    if (calls.length !== responses.length)
      return (
        'Please ensure that the number of function response parts is equal to the number ' +
        'of function call parts of the function call turn.'
      );
    const joinNames = (of: readonly { readonly name: string }[]): string =>
      of
        .map(({ name }) => name)
        .toSorted()
        .join('\n');
    if (joinNames(calls) !== joinNames(responses))
      return (
        'Please ensure that the names of the function response parts match those ' +
        'of the function call parts.'
      );
    const strange = responses.find(
      ({ id }) => id && calls.some((call) => call.id) && !calls.some((call) => call.id === id),
    );
    if (strange)
      return `Function response id '${strange.id}' does not match any function call of the turn before.`;
    const after = before === undefined || before.role !== 'model';
    if (listCalls(content).length && (content.role !== 'model' || place === 0 || !after))
      return (
        'Please ensure that function call turn comes immediately after a user turn ' +
        'or after a function response turn.'
      );
  }
  const last = contents.at(-1);
  return last && listCalls(last).length
    ? 'Please ensure that function call turn is followed by a function response turn.'
    : undefined;
}

function checkResponseParts(contents: readonly Content[], { generation }: GeminiFacts): string | undefined {
  for (const { name, response, parts } of contents.flatMap(listResponses)) {
    if (!name) return 'GenerateContentRequest.contents: function_response.name: Name cannot be empty.';
    if (!response) return `Function response of '${name}' has no response.`;
    const shown = parts.flatMap(({ inlineData, fileData }) => [
      inlineData?.displayName,
      fileData?.displayName,
    ]);
    if (refersBeyond(response, shown))
      return `The function response of '${name}' references a part that was not provided.`;
    if (parts.length && generation < 3)
      return 'Multimodal function response is not supported for this model.';
  }
  return undefined;
}

/** `$ref` in a response names a medium beside it; whether one is named that is not there. */
function refersBeyond(value: unknown, shown: readonly unknown[]): boolean {
  if (Array.isArray(value)) return value.some((inner) => refersBeyond(inner, shown));
  if (!isObject(value)) return false;
  return (
    (Object.hasOwn(value, '$ref') && !shown.includes(value.$ref)) ||
    Object.values(value).some((inner) => refersBeyond(inner, shown))
  );
}

function checkSignatures(contents: readonly Content[], seals: Seals): string | undefined {
  for (const { thoughtSignature: signature, functionCall } of contents.flatMap(({ parts }) => parts)) {
    if (signature === undefined || placeholders.has(signature)) continue;
    if (!seals.holds(signature, functionCall ? `call-${functionCall.name}` : 'text', ''))
      return 'Thought signature is not valid.';
  }
  return undefined;
}

/** In the turn that is under way, the first call of each step brings its signature. */
function checkTurnSignatures(contents: readonly Content[], { generation }: GeminiFacts): string | undefined {
  if (generation < 3) return undefined;
  const start = contents.findLastIndex(
    (content) => content.role !== 'model' && !listResponses(content).length,
  );
  for (const [place, content] of contents.entries()) {
    const position = content.parts.findIndex(({ functionCall }) => functionCall);
    const part = content.parts[position];
    if (place <= start || !part?.functionCall || part.thoughtSignature !== undefined) continue;
    return (
      'Function call is missing a thought_signature in functionCall parts. ' +
      'This is required for tools to work correctly, and missing thought_signature may lead ' +
      'to degraded model performance. ' +
      `Additional data, function call \`default_api:${part.functionCall.name}\` , position ${place + 1}. ` +
      'Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.'
    );
  }
  return undefined;
}

function checkMedia(contents: readonly Content[]): string | undefined {
  const parts = contents.flatMap((content) => [
    ...content.parts,
    ...listResponses(content).flatMap((response) => response.parts),
  ]);
  for (const { inlineData, fileData } of parts) {
    if (inlineData && !inlineData.mimeType)
      return (
        'Unable to submit request because it has an empty mimeType parameter. ' +
        'Specify a valid mimeType for the inlineData.'
      );
    if (inlineData && !inlineData.data)
      return 'Unable to submit request because it has an empty inlineData parameter.';
    if (inlineData && !mediaTypes.some((type) => type.test(inlineData.mimeType)))
      return `Unsupported MIME type: ${inlineData.mimeType}`;
    if (!fileData) continue;
    if (!URL.canParse(fileData.fileUri)) return 'Invalid or unsupported file uri.';
    const { host } = new URL(fileData.fileUri);
    if (forbiddenHosts.has(host)) {
      return (
        'Cannot fetch content from the provided URL. ' +
        'Please ensure the URL is valid and accessible by Vertex AI. ' +
        'Vertex AI respects robots.txt rules, so confirm the URL is allowed to be crawled. ' +
        'Status: URL_ROBOTED-ROBOTED_DENIED'
      );
    }
  }
  return undefined;
}

/** The first thing wrong with a conversation. */
export function checkConversation(
  { contents, systemInstruction }: GeminiRequest,
  facts: GeminiFacts,
  seals: Seals,
): string | undefined {
  if (systemInstruction?.parts.some((part) => part.text === undefined))
    return 'System instruction only supports text parts.';
  return (
    checkShape(contents) ??
    checkTurns(contents) ??
    checkResponseParts(contents, facts) ??
    checkSignatures(contents, seals) ??
    checkTurnSignatures(contents, facts) ??
    checkMedia(contents)
  );
}
