/** What providers' errors mean, by bodies that real providers send, and what a client sees of them. */
import { describe, expect, it } from 'vitest';
import {
  decodeError as decodeOpenai,
  encodeError as encodeOpenai,
} from '../../plugins/shared/openai/errors.ts';
import { buildErrorEvent, readVendorError } from '../../plugins/shared/vendors/errors.ts';
import { type Family, decode, encoders } from './vendor-replies.ts';

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

describe('a code that MiniMax writes into a reply with status 200', () => {
  it.each([
    [1000, 'upstream_failed', 500],
    [1001, 'timeout', 504],
    [1002, 'rate_limited', 429],
    [1004, 'upstream_failed', 401],
    [1008, 'upstream_failed', 402],
    [1024, 'upstream_failed', 500],
    [1026, 'content_policy_violation', 400],
    [1027, 'content_policy_violation', 400],
    [1028, 'rate_limited', 429],
    [1030, 'rate_limited', 429],
    [1033, 'upstream_failed', 500],
    [1039, 'rate_limited', 429],
    [1041, 'rate_limited', 429],
    [1042, 'invalid_request', 400],
    [2013, 'invalid_request', 400],
    [2045, 'rate_limited', 429],
    [2049, 'upstream_failed', 401],
    [2056, 'rate_limited', 429],
    [2061, 'model_not_found', 404],
    [9999, 'upstream_failed', 500],
  ])('(%i) means %s, as status %i does', (code, meaning, status) => {
    const error = readVendorError({ base_resp: { status_code: code, status_msg: 'It says why.' } });
    expect(buildErrorEvent('openai', error)).toMatchObject({ meaning, status });
  });
});
