/** What providers' errors mean, by bodies that real providers send, and what a client sees of them. */
import { describe, expect, it } from 'vitest';
import type { GatewayError } from '../../core/index.ts';
import {
  decodeError as decodeGoogle,
  encodeError as encodeGoogle,
} from '../../plugins/protocols/generate-content/errors.ts';
import {
  decodeError as decodeMessages,
  encodeError as encodeMessages,
} from '../../plugins/protocols/messages/errors.ts';
import {
  decodeError as decodeOpenai,
  encodeError as encodeOpenai,
} from '../../plugins/shared/wire-kit/openai-error.ts';

type Family = 'openai' | 'messages' | 'google';
const decoders = { openai: decodeOpenai, messages: decodeMessages, google: decodeGoogle };
const encoders = {
  openai: encodeOpenai,
  messages: (error: GatewayError) => encodeMessages(error, 'id-1'),
  google: (error: GatewayError) => encodeGoogle(error),
};

function bodyOf(family: Family, status: number, message: string, more: object = {}): object {
  if (family === 'openai')
    return { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } };
  if (family === 'messages')
    return { type: 'error', error: { type: 'not_found_error', message, ...more }, request_id: 'req_1' };
  return { error: { code: status, message, status: 'NOT_FOUND', ...more } };
}

function decode(family: Family, status: number, message: string, more: object = {}): GatewayError {
  return decoders[family](status, JSON.stringify(bodyOf(family, status, message, more)));
}

describe('an error about what the client named', () => {
  it.each<[Family, number, string, string]>([
    [
      'google',
      403,
      'You do not have permission to access the File abc-123 or it may not exist.',
      'forbidden',
    ],
    ['google', 403, 'CachedContent not found (or permission denied)', 'forbidden'],
    ['google', 404, 'Not found: cached content metadata for 123.', 'not_found'],
    ['google', 404, 'File not found', 'not_found'],
    ['google', 400, 'Cache content 123 is expired.', 'invalid_request'],
    [
      'google',
      403,
      'someone@x.iam.gserviceaccount.com does not have storage.objects.get access ' +
        'to the Google Cloud Storage object.',
      'forbidden',
    ],
    [
      'openai',
      404,
      "Item with id 'rs_123' not found. Items are not persisted when `store` is set to false.",
      'not_found',
    ],
    ['openai', 404, "Previous response with id 'resp_123' not found.", 'not_found'],
    ['openai', 404, 'No such File object: file-abc', 'not_found'],
    ['openai', 404, "Vector store with id 'vs_1' not found.", 'not_found'],
    ['openai', 404, "Container with id 'cntr_1' not found.", 'not_found'],
    ['openai', 410, 'Container is expired.', 'not_found'],
    ['openai', 404, "Conversation with id 'conv_1' not found.", 'not_found'],
    ['messages', 404, 'File not found: file_011CNha8iCJcU1wXNR6q4V8w', 'not_found'],
    ['messages', 404, 'Skill not found: skill_01', 'not_found'],
    ['openai', 424, "Error retrieving tool list from MCP server: 'files'.", 'invalid_request'],
  ])("(%s, %i, '%s') is %s, with the provider's message", (family, status, message, code) => {
    const error = decode(
      family,
      status,
      message,
      status === 424 ? { param: 'tools', code: 'http_error' } : {},
    );
    expect(error.code).toBe(code);
    expect(error.retry).toBe(false);
    if (!message.includes('gserviceaccount')) expect(error.message).toBe(message);
    expect(encoders[family](error).status).toBe(status);
  });

  it('is a refusal by policy if the provider answers 403 for one', () => {
    const flagged = { code: 403, metadata: { reasons: ['violence'], flagged_input: 'x' } };
    const openrouter = decode(
      'openai',
      403,
      'Your chosen model requires moderation and your input was flagged for "violence".',
      flagged,
    );
    expect(openrouter.code).toBe('content_policy_violation');
    expect(encodeOpenai(openrouter).body).toMatchObject({
      error: { metadata: flagged.metadata, code: 'content_policy_violation' },
    });
    const team = '01234567-89ab-cdef-0123-456789abcdef';
    const xai = decodeOpenai(
      403,
      JSON.stringify({
        code: 'The caller does not have permission',
        error:
          `Content violates usage guidelines. Team: ${team}, API key ID: ${team}, Model: ` +
          'grok-4, Failed check: SAFETY_CHECK_TYPE_BIO',
      }),
    );
    expect(xai).toMatchObject({
      code: 'content_policy_violation',
      message: 'Content violates usage guidelines. Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO',
    });
    expect(JSON.stringify(encodeOpenai(xai))).not.toContain(team);
  });

  it('concerns one call only if that call alone exceeds our quota: another target may accept it', () => {
    const message =
      'Request too large for model `m` in organization `org_01abc` service tier `on_demand` ' +
      'on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size.';
    for (const status of [413, 429]) {
      const error = decode('openai', status, message, { type: 'tokens', code: 'rate_limit_exceeded' });
      expect(error).toMatchObject({ code: 'body_too_large', retry: false, details: { elsewhere: true } });
      expect(encodeOpenai(error)).toMatchObject({
        status,
        body: { error: { type: 'tokens', code: 'rate_limit_exceeded' } },
      });
      expect(error.message).toBe(message.replace(' in organization `org_01abc`', ''));
    }
  });
});

describe('an error about our key, our account or a model', () => {
  it.each<[Family, number, string, object?]>([
    ['google', 403, 'Your project has been denied access. Please contact support.'],
    [
      'google',
      403,
      "Permission 'aiplatform.endpoints.predict' denied " +
        "on resource '//aiplatform.googleapis.com/projects/p'.",
    ],
    [
      'google',
      403,
      'Generative Language API has not been used in project 123456789 before or it is disabled.',
    ],
    ['google', 400, 'User location is not supported for the API use.', { status: 'FAILED_PRECONDITION' }],
    ['openai', 403, 'You have insufficient permissions for this operation. Missing scopes: api.files.read.'],
    ['openai', 403, 'Your account is not allowed to use the images API.'],
    [
      'openai',
      403,
      'Country, region, or territory not supported',
      { code: 'unsupported_country_region_territory' },
    ],
    [
      'openai',
      400,
      'Your organization must be verified to stream this model.',
      { param: 'stream', code: 'unsupported_value' },
    ],
    ['openai', 401, "You don't have permission to access the file file-1."],
    [
      'openai',
      403,
      'Project `proj_abc` does not have access to model `gpt-4o`.',
      { code: 'model_not_found' },
    ],
    ['messages', 403, 'Your API key does not have permission to use the specified resource.'],
    ['messages', 400, 'Your credit balance is too low to access the Anthropic API.'],
    [
      'openai',
      429,
      'You exceeded your current quota.',
      { type: 'insufficient_quota', code: 'insufficient_quota' },
    ],
  ])("(%s, %i, '%s') is not shown, and concerns the target", (family, status, message, more = {}) => {
    const error = decode(family, status, message, more);
    expect(error).toMatchObject({
      code: 'upstream_failed',
      message: 'The provider could not take this call.',
    });
    expect(error.details.vendor).toBeUndefined();
    expect(JSON.stringify(encoders[family](error).body)).not.toMatch(
      /project|scope|account|verified|file-1|credit|quota|region/i,
    );
  });

  it.each<[Family, number, string, object?]>([
    [
      'openai',
      404,
      'The model `gpt-x` does not exist or you do not have access to it.',
      { code: 'model_not_found' },
    ],
    [
      'openai',
      400,
      "The requested model 'gpt-x' does not exist.",
      { param: 'model', code: 'model_not_found' },
    ],
    ['openai', 400, 'Model Not Exist'],
    ['openai', 400, 'gpt-x is not a valid model ID', { code: 400 }],
    [
      'openai',
      400,
      'The model `gpt-x` has been decommissioned and is no longer supported.',
      { code: 'model_decommissioned' },
    ],
    // llama.cpp's answer at a path that it does not have.
    ['openai', 404, 'File Not Found', { code: 404, type: 'not_found_error' }],
    ['openai', 404, 'Invalid URL (POST /v1/chat)'],
    ['messages', 404, 'model: claude-x'],
    [
      'google',
      404,
      'models/gemini-x is not found for API version v1beta, or is not supported for generateContent.',
    ],
    [
      'google',
      404,
      'Publisher Model `projects/p/locations/l/publishers/google/models/x` was not found ' +
        'or your project does not have access to it.',
    ],
  ])(
    "(%s, %i, '%s') says that the model is missing, with our own message",
    (family, status, message, more = {}) => {
      const error = decode(family, status, message, more);
      expect(error).toMatchObject({
        code: 'model_not_found',
        message: 'The provider does not serve this model at present.',
      });
      expect(error.details.vendor).toBeUndefined();
    },
  );

  it('cannot be forged by a client whose text the provider quotes', () => {
    for (const text of ['invalid api key', 'the model x does not exist', 'credit balance is too low']) {
      for (const quote of ["'", '"', '`']) {
        expect(
          decode('openai', 400, `Invalid value for tools[0].name: ${quote}${text}${quote}.`).code,
          text,
        ).toBe('invalid_request');
      }
    }
  });
});

describe("a provider's error on its own protocol", () => {
  it.each<[string, number, object, object?]>([
    [
      'Groq',
      400,
      {
        message: 'Failed to call a function.',
        type: 'invalid_request_error',
        code: 'tool_use_failed',
        failed_generation: '<function=f>{}</function>',
      },
    ],
    [
      'OpenRouter',
      429,
      {
        code: 429,
        message: 'Provider returned error',
        metadata: { provider_name: 'Google', raw: 'rate-limited upstream' },
      },
      { type: 'requests', param: null },
    ],
    [
      'llama.cpp',
      400,
      {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9000,
        n_ctx: 4096,
      },
      { code: 'context_length_exceeded', param: null },
    ],
    [
      'OpenAI',
      409,
      {
        message: 'The conversation is locked.',
        type: 'invalid_request_error',
        param: null,
        code: 'conversation_locked',
      },
    ],
    [
      'OpenAI',
      413,
      {
        message: 'The file is larger than 512 MB.',
        type: 'invalid_request_error',
        param: null,
        code: 'file_too_large',
      },
    ],
    [
      'OpenAI',
      429,
      {
        message: 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000.',
        type: 'tokens',
        param: null,
        code: 'rate_limit_exceeded',
      },
    ],
  ])('keeps all its fields: %s, %i', (_, status, error, added = {}) => {
    const wrapped = { error, user_id: 'user_abc' };
    expect(encodeOpenai(decodeOpenai(status, JSON.stringify(wrapped)))).toEqual({
      status,
      body: { error: { param: null, ...error, ...added } },
    });
  });

  it('keeps the message of a provider that is overloaded', () => {
    const overloaded = { type: 'overloaded_error', message: 'Overloaded' };
    expect(
      encodeMessages(decodeMessages(529, JSON.stringify({ type: 'error', error: overloaded })), 'id-1'),
    ).toEqual({ status: 529, body: { type: 'error', error: overloaded, request_id: 'id-1' } });
    const busy = { message: 'The engine is currently overloaded.', type: 'server_error', code: 'overloaded' };
    // Codex stops at this code of ours.
    expect(encodeOpenai(decodeOpenai(503, JSON.stringify({ error: busy })))).toMatchObject({
      status: 503,
      body: { error: { message: busy.message, code: 'server_is_overloaded' } },
    });
  });

  it("keeps Google's details, without our project", () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ quotaId: 'PerMinute', subject: 'project:123' }],
      },
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'RATE_LIMIT_EXCEEDED',
        metadata: { service: 's', consumer: 'projects/123456' },
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' },
    ];
    const message =
      'You exceeded your current quota, please check your plan and billing details. Please retry in 34.4s.';
    const error = decodeGoogle(
      429,
      JSON.stringify({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details } }),
    );
    expect(Math.ceil(error.details.retryAfter ?? 0)).toBe(35);
    expect(encodeGoogle(error)).toEqual({
      status: 429,
      body: {
        error: {
          code: 429,
          message: 'Please retry in 34.4s.',
          status: 'RESOURCE_EXHAUSTED',
          details: [
            { '@type': details[0]?.['@type'], violations: [{ quotaId: 'PerMinute' }] },
            { '@type': details[1]?.['@type'], reason: 'RATE_LIMIT_EXCEEDED', metadata: { service: 's' } },
            details[2],
          ],
        },
      },
    });
  });

  it.each([
    ['sk-proj-ab****cd', 'Slow down, sk-proj-ab****cd.'],
    ['org-AbC123', 'Rate limit reached for gpt-4o in organization org-AbC123 on requests per day.'],
    ['proj_AbC123', 'Limit of proj_AbC123 reached.'],
    [
      '01234567-89ab-cdef-0123-456789abcdef',
      'This would exceed the rate limit for your organization (01234567-89ab-cdef-0123-456789abcdef) ' +
        'of 50 requests per minute.',
    ],
    ['AIzaSyAbCdEf', 'Failed: https://x.googleapis.com/v1?key=AIzaSyAbCdEf&alt=sse'],
    ['123456789', 'Quota of projects/123456789 exceeded.'],
  ])('names neither our key nor our account: %s', (secret, message) => {
    for (const [family, status] of [
      ['openai', 429],
      ['messages', 429],
      ['google', 429],
      ['openai', 500],
      ['openai', 400],
    ] as const) {
      const { body } = encoders[family](decode(family, status, message, { extra: { deep: [message] } }));
      expect(JSON.stringify(body)).not.toContain(secret);
    }
  });

  it('is bounded, however deep or long', () => {
    const deep = `{"error":{"message":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    expect(decodeOpenai(400, deep)).toMatchObject({ code: 'invalid_request', message: 'x' });
    expect(
      decodeOpenai(400, JSON.stringify({ error: { message: 'x', long: 'sk-'.repeat(300_000) } })).message,
    ).toBe('x');
  });
});

describe("a provider's error on another protocol", () => {
  it("has OpenAI's format if a chat or responses client asks Google", () => {
    const error = decodeGoogle(
      400,
      JSON.stringify({ error: { code: 400, message: 'Bad part.', status: 'INVALID_ARGUMENT' } }),
    );
    expect(encodeOpenai(error)).toEqual({
      status: 400,
      body: { error: { message: 'Bad part.', type: 'invalid_request_error', param: null, code: null } },
    });
    expect(encodeMessages(error, 'id-1').body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Bad part.' },
      request_id: 'id-1',
    });
  });

  it("has OpenAI's format if it comes from Google's own chat layer", () => {
    const error = decodeOpenai(
      400,
      JSON.stringify([{ error: { code: 400, message: 'Bad part.', status: 'INVALID_ARGUMENT' } }]),
    );
    expect(encodeOpenai(error)).toMatchObject({
      status: 400,
      body: { error: { message: 'Bad part.', type: 'invalid_request_error', param: null, code: null } },
    });
  });

  it.each([
    [
      404,
      'File not found: file_1',
      {
        openai: [404, { type: 'invalid_request_error', code: 'not_found' }],
        messages: [404, { type: 'not_found_error' }],
        google: [404, { code: 404, status: 'NOT_FOUND' }],
      },
    ],
    [
      409,
      'Busy.',
      {
        openai: [409, { type: 'invalid_request_error', code: 'conflict' }],
        messages: [409, { type: 'conflict_error' }],
        google: [409, { code: 409, status: 'ABORTED' }],
      },
    ],
    [
      413,
      'Too much.',
      {
        openai: [413, { code: 'request_too_large' }],
        messages: [413, { type: 'request_too_large' }],
        google: [413, { code: 413, status: 'INVALID_ARGUMENT' }],
      },
    ],
    [
      429,
      'Slow down.',
      {
        openai: [429, { type: 'requests', code: 'rate_limit_exceeded' }],
        messages: [429, { type: 'rate_limit_error' }],
        google: [429, { code: 429, status: 'RESOURCE_EXHAUSTED' }],
      },
    ],
    [
      529,
      'Overloaded',
      {
        openai: [503, { type: 'server_error', code: 'server_is_overloaded' }],
        messages: [529, { type: 'overloaded_error' }],
        google: [503, { code: 503, status: 'UNAVAILABLE' }],
      },
    ],
  ] as const)(
    'with status %i keeps its message, and has the status and type of each protocol',
    (status, message, told) => {
      const families = ['openai', 'messages', 'google'] as const;
      for (const from of families) {
        for (const to of families.filter((family) => family !== from)) {
          const [expected, error] = told[to];
          expect(
            encoders[to](decoders[from](status, JSON.stringify({ error: { message } }))),
            `${from} to ${to}`,
          ).toMatchObject({ status: expected, body: { error: { message, ...error } } });
        }
      }
    },
  );
});
