/**
 * Traces by OpenTelemetry, with the names of its conventions for generative models: a span for the call, and
 * below it one for each attempt. They are made after the call has ended, from its end, so a running call
 * carries nothing for them. They hold nothing of prompts or replies. The program that starts the process
 * registers an SDK and its exporter; without one no spans are made.
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import { z } from 'zod';
import { definePlugin, nameCounts, type Attempt, type End } from '../../core/index.ts';
import { getAttribution } from '../shared/attribution.ts';
import { sumCacheWrites } from '../shared/wire-kit/cache-writes.ts';

/** The conventions' names of providers, if they differ from ours. */
const providerNames: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

const operationNames: Readonly<Record<string, string>> = {
  'generate-content': 'generate_content',
  images: 'generate_content',
  embeddings: 'embeddings',
  'embed-content': 'embeddings',
  completions: 'text_completion',
  // The conventions have no names for these.
  rerank: 'rerank',
  'cohere-rerank': 'rerank',
  moderations: 'moderations',
};

/** What the call asked for, which is on its own span and on those of its attempts. */
function describeRequest({ exchange }: End): Attributes {
  const { family, call } = exchange;
  return {
    'gen_ai.operation.name': operationNames[family] ?? 'chat',
    'gen_ai.request.model': call?.model,
    'gen_ai.request.stream': call?.stream,
    'gen_ai.request.max_tokens': call?.outputLimit,
    'gen_ai.request.choice.count': call && call.candidates > 1 ? call.candidates : undefined,
  };
}

function describeUsage(end: End): Attributes {
  if (end.type !== 'answered' && end.type !== 'failed') return {};
  const usage = nameCounts(end.charge.uses);
  return {
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
    'gen_ai.usage.cache_write.input_tokens': sumCacheWrites(usage),
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning,
  };
}

function describeAttempt({ target, number, firstEventAfter, error, status }: Attempt): Attributes {
  return {
    'gen_ai.provider.name': providerNames[target.provider.name] ?? target.provider.name,
    'gen_ai.response.model': target.model.upstream,
    'gen_ai.response.time_to_first_chunk': firstEventAfter === undefined ? undefined : firstEventAfter / 1000,
    'http.response.status_code': status,
    'tollgate.attempt': number,
    'error.type': error?.code,
  };
}

/** The tags of a call; its session and end user have names in the conventions. */
function describeTags({ exchange }: End): Attributes {
  const { byName, texts } = getAttribution(exchange);
  if (texts.length === 0) return {};
  return {
    'gen_ai.conversation.id': byName.session,
    'gen_ai.agent.id': byName.agent,
    'enduser.id': byName.user,
    'tollgate.tags': [...texts],
  };
}

const headerGetter = {
  get: (headers: End['exchange']['headers'], name: string): string | string[] | undefined => headers[name],
  keys: (headers: End['exchange']['headers']): string[] => Object.keys(headers),
};

function traceEnd(tracer: Tracer, end: End, parent: Context): void {
  const { exchange, attempts, duration } = end;
  const error = end.type === 'replayed' ? undefined : end.error;
  const status = end.type === 'replayed' ? end.replay.status : (error?.status ?? 200);
  const asked = describeRequest(end);
  const { receivedAt, startedAt, method, path } = exchange;
  const outcome = end.type === 'answered' ? end.outcome : end.type;
  const server = {
    'http.request.method': method,
    'url.path': path,
    'http.response.status_code': status,
    'tollgate.call': exchange.id,
    'tollgate.outcome': outcome,
  };
  const span = tracer.startSpan(
    `${method} ${path}`,
    {
      kind: SpanKind.SERVER,
      startTime: receivedAt,
      attributes: {
        ...asked,
        ...server,
        ...describeTags(end),
        ...describeUsage(end),
        'error.type': error?.code,
      },
    },
    parent,
  );
  if (error) span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  const within = trace.setSpan(parent, span);
  for (const attempt of attempts) {
    const began = receivedAt + (attempt.startedAt - startedAt);
    const last = attempt === attempts.at(-1);
    const attributes = { ...asked, ...describeAttempt(attempt), ...(last ? describeUsage(end) : {}) };
    const child = tracer.startSpan(
      `${asked['gen_ai.operation.name']} ${attempt.target.model.upstream}`,
      { kind: SpanKind.CLIENT, startTime: began, attributes },
      within,
    );
    if (attempt.error) child.setStatus({ code: SpanStatusCode.ERROR, message: attempt.error.message });
    child.end(began + (attempt.duration ?? 0));
  }
  span.end(receivedAt + duration);
}

export const opentelemetry = definePlugin({
  name: 'opentelemetry',
  options: z.strictObject({}),
  apply({ hooks }) {
    const tracer = trace.getTracer('tollgate');
    hooks.observe.tap('opentelemetry', (end) => {
      traceEnd(tracer, end, propagation.extract(context.active(), end.exchange.headers, headerGetter));
    });
  },
});
