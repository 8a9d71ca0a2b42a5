/**
 * The checks of a request, in the order the vendor makes them: can it be read, does every field exist, does
 * the model, does the model take the field, is the shape right, do the fields fit together. The first failure
 * is the reply.
 */
import { isObject, type Json } from '../../json.ts';
import { readShape } from './complaints.ts';
import { unsupportedFields, type Extensions, type ModelFacts } from './models.ts';
import { complain, readJson, reject, rejectModel, rejectOverflow, type Complaint } from './refusals.ts';
import { isGiven, type Message, requestSchema, type ChatRequest } from './request.ts';
import { rules } from './rules.ts';
import { countPromptTokens } from './tokens.ts';

function describeUnanswered(ids: Iterable<string>, position: number): Complaint {
  return complain(
    "An assistant message with 'tool_calls' must be followed by tool messages responding " +
      "to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
    `messages.[${position}].role`,
  );
}

const orphan =
  "Invalid parameter: messages with role 'tool' must be a response to a preceding message " +
  "with 'tool_calls'.";
const emptyTurn = "Invalid value for 'content': expected a string, got null.";

/**
 * The rules of a conversation: every call of an assistant turn is answered by a tool message right after it,
 * each once, and no tool message is anywhere else. Gateways that merge, reorder or drop turns break these.
 */
function checkConversation(messages: readonly Message[]): Complaint | undefined {
  let open = new Set<string>();
  for (const [position, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) return complain(orphan, `messages.[${position}].role`);
      continue;
    }
    if (open.size) return describeUnanswered(open, position);
    if (message.role !== 'assistant') continue;
    const { content, refusal, audio, function_call: oldCall, tool_calls: calls = [] } = message;
    if (!calls.length && ![content, refusal, audio, oldCall].some(isGiven))
      return complain(emptyTurn, `messages.[${position}].content`);
    open = new Set(calls.map(({ id }) => id));
    const twice = calls.find(({ id }, index) => calls.findIndex((call) => call.id === id) < index);
    if (twice)
      return complain(
        `Duplicate tool call id '${twice.id}'.`,
        `messages.[${position}].tool_calls`,
        'invalid_value',
      );
  }
  return open.size ? describeUnanswered(open, messages.length - 1) : undefined;
}

function omitFields(value: unknown, fields: readonly string[]): unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)))
    : value;
}

/** The part of a request every vendor of the protocol knows. */
function selectStandardPart(
  body: Json,
  { fields = [], messageFields = [], toolTypes = [] }: Extensions,
): Json {
  const standard: Json = Object.fromEntries(
    Object.entries(body).filter(([field]) => !fields.includes(field)),
  );
  const { messages, tools } = standard;
  if (messageFields.length && Array.isArray(messages)) {
    standard.messages = messages.map((message: unknown) => {
      const bare = omitFields(message, messageFields);
      if (!isObject(bare) || !Array.isArray(bare.tool_calls)) return bare;
      return { ...bare, tool_calls: bare.tool_calls.map((call: unknown) => omitFields(call, messageFields)) };
    });
  }
  if (toolTypes.length && Array.isArray(tools)) {
    const known = tools.filter((tool: unknown) => !isObject(tool) || !toolTypes.includes(String(tool.type)));
    if (known.length) standard.tools = known;
    else delete standard.tools;
  }
  return standard;
}

function checkSupport(body: Json, reasoning: boolean): void {
  const param = unsupportedFields[reasoning ? 'reasoning' : 'plain'].find((field) => isGiven(body[field]));
  if (!param) return;
  const hint = param === 'max_tokens' ? " Use 'max_completion_tokens' instead." : '';
  const message = `Unsupported parameter: '${param}' is not supported with this model.${hint}`;
  reject(complain(message, param, 'unsupported_parameter'));
}

/** DeepSeek, while it thinks, refuses forced tools, and answers without the reasoning that led to them. */
function checkThoughts({ messages, thinking, tool_choice: choice }: Json): void {
  if (isObject(thinking) && thinking.type === 'disabled') return;
  if (choice === 'required' || isObject(choice))
    reject(complain('Thinking mode does not support this tool_choice', null, 'invalid_request_error'));
  const answers = Array.isArray(messages)
    ? messages.filter(isObject).filter(({ role }) => role === 'assistant')
    : [];
  if (!answers.some((answer) => answer.tool_calls) || answers.every((answer) => answer.reasoning_content))
    return;
  const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
  reject(complain(message, null, 'invalid_request_error'));
}

/** Takes the bytes of a request and a lookup of a model's facts; returns the request with the facts. */
export function check(
  bytes: Buffer,
  find: (model: string) => ModelFacts | undefined,
): { readonly request: ChatRequest; readonly facts: ModelFacts } {
  const json = readJson(bytes);
  const { model } = json;
  const known = typeof model === 'string' ? find(model) : undefined;
  const facts = known ?? {};
  const body = selectStandardPart(json, facts.extensions ?? {});
  const stranger = Object.keys(body).find((field) => !(field in requestSchema.shape));
  if (stranger !== undefined)
    reject(complain(`Unknown parameter: '${stranger}'.`, stranger, 'unknown_parameter'));
  if (typeof model === 'string' && !known) rejectModel(model);
  checkSupport(body, facts.reasoning ?? false);
  if (facts.wantsThoughts) checkThoughts(json);
  const request = readShape(requestSchema, body);
  const broken =
    rules.map((rule) => rule(request, facts)).find(Boolean) ?? checkConversation(request.messages);
  if (broken) reject(broken);
  const prompt = countPromptTokens(request);
  const limit = facts.contextLength ?? Infinity;
  if (prompt > limit) rejectOverflow(limit, prompt);
  return { request, facts };
}
