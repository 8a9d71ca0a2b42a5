/**
 * A vendor of images on loopback, as strict as OpenAI's: JSON for a picture to make, a form for one to edit,
 * and no field, value or file it does not know. It shares no code with the gateway.
 */
import { readShape } from './chat-completions/complaints.ts';
import {
  buildOpenaiHeaders,
  checkKey,
  checkPath,
  complain,
  isJsonCall,
  openaiKey,
  reject,
  rejectModel,
  serverError,
  type Complaint,
} from './chat-completions/refusals.ts';
import {
  editSchema,
  checkFiles,
  generationSchema,
  readCall,
  checkCombination,
  type ImageRequest,
  type UploadedFile,
} from './images/request.ts';
import { computeBill, streamEvents, buildResult } from './images/result.ts';
import { ScriptBook } from './script-book.ts';
import { stageFrames } from './sending.ts';
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
  if (!fits) {
    const supported = (facts.sizes ?? ['multiples of 16']).map((each) => `'${each}'`).join(', ');
    const message = `Invalid value: '${size}'. Supported values are: ${supported}.`;
    return complain(message, 'size', 'invalid_value');
  }
  return background === 'transparent' && facts?.transparent === false
    ? complain('Transparent background is not supported for this model.', 'background', 'invalid_value')
    : undefined;
}

function checkArrival(received: ReceivedRequest): void {
  const { path, headers } = received;
  const type = headers['content-type'] ?? '';
  checkKey(headers);
  checkPath(received, '/v1/images/generations', '/v1/images/edits');
  const isRead = path.endsWith('/edits')
    ? /^multipart\/form-data; boundary=\S+$/.test(type)
    : isJsonCall(headers);
  if (!isRead) reject(complain(`Unsupported content type: '${type}'.`, null, 'unsupported_content_type'));
}

/** In the words of the real wire, where an edit's number that is none arrives as `NaN`. */
async function check(
  { body, headers, path }: ReceivedRequest,
  knows: (model: string) => boolean,
): Promise<ImageCall> {
  const edit = path.endsWith('/edits');
  const { fields, files } = await readCall(body, headers['content-type'] ?? '', edit);
  const request: ImageRequest = edit ? readShape(editSchema, fields) : readShape(generationSchema, fields);
  if (!knows(request.model)) rejectModel(request.model);
  const fault = checkModelFit(request) ?? checkCombination(request) ?? (edit ? checkFiles(files) : undefined);
  if (fault) reject(fault);
  return { ...request, files };
}

function createImagesPlay(): Play<ImageCall> {
  const scripts = new ScriptBook<ImageCall>();
  return {
    key: openaiKey,
    scripts,
    headers: [],
    buildUsualHeaders: buildOpenaiHeaders,
    async judge(received) {
      checkArrival(received);
      const call = await check(received, (model) => model in models || scripts.has(model));
      const { files, ...request } = call;
      return {
        model: request.model,
        request: call,
        streamed: request.stream ?? false,
        compose(scenario) {
          const edit = received.path.endsWith('/edits');
          const composition = { request, scenario, edit, inputs: files.length };
          const error = { ...serverError, ...scenario.fail?.error };
          const failure = `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
          const { text, image, output } = computeBill(composition);
          return {
            whole: () => buildResult(composition),
            frames: () => stageFrames(streamEvents(composition), scenario, () => [failure]),
            billed: { prompt: text + image, completion: output },
          };
        },
      };
    },
  };
}

/** Starts it; its URL is what `OPENAI_BASE_URL` expects. */
export function startImagesVendor(): Promise<Stage<ImageCall>> {
  return openStage(createImagesPlay(), '/v1');
}
