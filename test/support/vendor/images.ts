/**
 * A vendor of images on loopback, as strict as OpenAI's: JSON for a picture to make, a form for one to edit,
 * and no field, value or file it does not know. It shares no code with the gateway.
 */
import { describeIssue } from './chat-completions/complaints.ts';
import {
  buildErrorBody,
  refuseModel,
  refuse,
  checkKey,
  checkPath,
  isJsonCall,
  type Complaint,
} from './chat-completions/refusals.ts';
import type { WholeReply } from './delivery.ts';
import {
  editSchema,
  checkFiles,
  generationSchema,
  readCall,
  checkCombination,
  type ImageRequest,
  type UploadedFile,
} from './images/request.ts';
import { computeBill, streamEvents, buildResult, type Composition } from './images/result.ts';
import type { Scenario } from './scenario.ts';
import { ScriptBook } from './script-book.ts';
import { sendStream, sendWhole, stageFrames } from './sending.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export { pixel } from './images/result.ts';

/** A call as a script's step sees it: the request, and its files. */
export interface ImageCall extends ImageRequest {
  readonly files: readonly UploadedFile[];
}

const edges = { fixed: ['auto', '1024x1024', '1536x1024', '1024x1536'], free: undefined } as const;
const models: Readonly<
  Record<string, { readonly sizes: readonly string[] | undefined; readonly transparent: boolean }>
> = {
  'gpt-image-2': { sizes: edges.free, transparent: false },
  'gpt-image-1.5': { sizes: edges.fixed, transparent: true },
  'gpt-image-1': { sizes: edges.fixed, transparent: true },
  'gpt-image-1-mini': { sizes: edges.fixed, transparent: true },
};

function checkModelFit({ model, size = 'auto', background }: ImageRequest): Complaint | undefined {
  const facts = models[model];
  const [width = 0, height = 0] = size.split('x').map(Number);
  const fits =
    !facts ||
    (facts.sizes
      ? facts.sizes.includes(size)
      : size === 'auto' || (width % 16 === 0 && height % 16 === 0 && width * height >= 655_360));
  if (!fits)
    return {
      message:
        `Invalid value: '${size}'. Supported values are: ` +
        `${(facts.sizes ?? ['multiples of 16']).map((each) => `'${each}'`).join(', ')}.`,
      param: 'size',
      code: 'invalid_value',
    };
  if (background === 'transparent' && facts?.transparent === false)
    return {
      message: 'Transparent background is not supported for this model.',
      param: 'background',
      code: 'invalid_value',
    };
  return undefined;
}

function checkArrival(received: ReceivedRequest, key: string): WholeReply | undefined {
  const { path, headers } = received;
  const type = headers['content-type'] ?? '';
  const isRead = path.endsWith('/edits')
    ? /^multipart\/form-data; boundary=\S+$/.test(type)
    : isJsonCall(headers);
  const wrong = { message: `Unsupported content type: '${type}'.`, code: 'unsupported_content_type' };
  return (
    checkKey(headers, key) ??
    checkPath(received, '/v1/images/generations', '/v1/images/edits') ??
    (isRead ? undefined : refuse(wrong))
  );
}

/** In the words of the real wire, where an edit's number that is none arrives as `NaN`. */
async function check(
  { body, headers, path }: ReceivedRequest,
  knows: (model: string) => boolean,
): Promise<ImageCall | WholeReply> {
  const edit = path.endsWith('/edits');
  const call = await readCall(body, headers['content-type'] ?? '', edit);
  if ('message' in call) return refuse(call);
  const parsed = (edit ? editSchema : generationSchema).safeParse(call.fields, { reportInput: true });
  if (!parsed.success)
    return refuse(
      parsed.error.issues[0]
        ? describeIssue(parsed.error.issues[0])
        : { message: 'Invalid request.', code: null },
    );
  const request: ImageRequest = parsed.data;
  if (!knows(request.model)) return refuseModel(request.model);
  const fault =
    checkModelFit(request) ?? checkCombination(request) ?? (edit ? checkFiles(call.files) : undefined);
  return fault ? refuse(fault) : { ...request, files: call.files };
}

function createImagesPlay(): Play<ImageCall> {
  const key = 'sk-vendor-0123456789';
  const scripts = new ScriptBook<ImageCall, Scenario>({});
  return {
    key,
    scripts,
    headers: [],
    async answer({ received, response, entry }) {
      const usual = {
        'x-request-id': entry.id,
        'openai-organization': 'org-fake',
        'openai-version': '2020-10-01',
        'set-cookie': '__cf_bm=fake; path=/; HttpOnly',
      };
      const respond = (reply: WholeReply, scenario: Scenario = {}): Promise<void> =>
        sendWhole(reply, usual, scenario, response, entry);
      const stopped = checkArrival(received, key);
      if (stopped) return respond(stopped);
      const checked = await check(received, (model) => model in models || scripts.has(model));
      if ('status' in checked) return respond(checked);
      const { files, ...request } = checked;
      entry.model = request.model;
      entry.stream = request.stream ?? false;
      const scenario = await scripts.takeScenario(request.model, checked, received);
      if (scenario.reply) return respond(scenario.reply, scenario);
      const composition: Composition = {
        request,
        scenario,
        edit: received.path.endsWith('/edits'),
        inputs: files.length,
      };
      if (scenario.shape ? scenario.shape === 'stream' : entry.stream) {
        const buildFailure = (): string[] => [
          `event: error\ndata: ${JSON.stringify({
            type: 'error',
            ...buildErrorBody({
              message: 'The server had an error while processing your request.',
              type: 'server_error',
              code: null,
              ...scenario.fail?.error,
            }),
          })}\n\n`,
        ];
        await sendStream(
          stageFrames(streamEvents(composition), scenario, buildFailure),
          { 'content-type': 'text/event-stream; charset=utf-8', ...usual },
          scenario,
          response,
          entry,
        );
      } else {
        await respond(
          { status: 200, headers: scenario.headers ?? {}, body: buildResult(composition) },
          scenario,
        );
      }
      const { text, image, output } = computeBill(composition);
      entry.billed = { prompt: text + image, completion: entry.end === 'complete' ? output : 0 };
    },
  };
}

/** Starts it; its URL is what `OPENAI_BASE_URL` expects. */
export function startImagesVendor(): Promise<Stage<ImageCall>> {
  return openStage(createImagesPlay(), '/v1');
}
