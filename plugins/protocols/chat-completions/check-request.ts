/** Checks a client's request: first its shape against the wire schema, then rules that span fields. */
import { buildChoiceError } from '../../shared/wire-kit/offered-tools.ts';
import { refuseOtherModels } from '../../shared/wire-kit/provider-object.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { readReferredName } from './decode-tools.ts';
import * as WireMessages from './wire-messages.ts';
import * as Wire from './wire.ts';

/** Throws `invalid_request` with the name of the field. */
export function checkRequest(body: unknown): Wire.Request {
  const wire = checkWire(Wire.request, body);
  checkTogether(wire);
  for (const [index, message] of wire.messages.entries())
    if (WireMessages.isKnownMessage(message)) checkMessage(message, index);
  return wire;
}

const withLogprobs = '"logprobs": true with it, or leave it out';
const oneOfThem = 'the name of one of them';

function checkTogether(wire: Wire.Request): void {
  if (wire.stream_options && !wire.stream)
    throw buildFieldError('stream_options', 'is only for streams', '"stream": true with it, or leave it out');
  if (wire.top_logprobs && !wire.logprobs)
    throw buildFieldError('top_logprobs', 'needs log probabilities', withLogprobs);
  const { models } = wire;
  if (Array.isArray(models) && models.length > 0) refuseOtherModels('models');
  checkToolChoice(wire);
  const { function_call: call, functions = [] } = wire;
  if (typeof call === 'object' && call && !functions?.some(({ name }) => name === call.name))
    throw buildFieldError('function_call', `names "${call.name}", which is not in "functions"`, oneOfThem);
}

function checkToolChoice({ tool_choice: choice, tools }: Wire.Request): void {
  if ((choice === 'required' || choice === 'any') && !tools?.length) throw buildChoiceError(choice);
  if (!choice || typeof choice === 'string' || !Wire.isNamedChoice(choice)) return;
  const known = new Set(
    tools
      ?.filter(Wire.isOwnTool)
      .map((tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name)),
  );
  const wanted = choice.type === 'allowed_tools' ? choice.allowed_tools.tools : [choice];
  const missing = wanted.flatMap(readReferredName).find((name) => !known.has(name));
  if (missing !== undefined)
    throw buildFieldError('tool_choice', `names "${missing}", which is not in "tools"`, oneOfThem);
}

const answerWanted = 'a string or an array of parts; it may be null only beside tool calls or reasoning';

function checkMessage(message: WireMessages.Message, place: number): void {
  if (message.role === 'assistant' && !hasContent(message) && !hasReasoning(message))
    throw buildFieldError(`messages[${place}].content`, 'is missing', answerWanted);
  if (message.role !== 'user' || typeof message.content === 'string') return;
  for (const [index, part] of message.content.entries()) {
    if (!WireMessages.isKnownPart(part) || part.type !== 'file' || part.file.file_data || part.file.file_id)
      continue;
    const at = `messages[${place}].content[${index}].file`;
    throw buildFieldError(at, 'holds no file', 'its content as "file_data" or its id as "file_id"');
  }
}

/** Whether the message thinks and says nothing, as a reply does that was cut off while the model thought. */
export function hasReasoningAlone(message: WireMessages.Message): boolean {
  return message.role === 'assistant' && !hasContent(message) && hasReasoning(message);
}

function hasReasoning(message: WireMessages.AssistantMessage): boolean {
  const { reasoning_content: content, reasoning, reasoning_details: details } = message;
  return [content, reasoning, details].some((value) => value !== undefined && value !== null);
}

function hasContent(message: WireMessages.AssistantMessage): boolean {
  const { content, refusal, tool_calls: calls, function_call: call, audio, images } = message;
  return [content, refusal, calls?.[0], call, audio, images].some(
    (value) => value !== undefined && value !== null,
  );
}
